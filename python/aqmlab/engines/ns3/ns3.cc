// Runs one trial in ns-3. A token bucket shapes the line between the hosts in each direction.
//
//   home-1 --+                                       +-- wan-1
//   home-2 --+-- gateway ==( bucket, discipline )== edge --+-- wan-2
//
// Each application has its own pair of hosts. The delay of its WAN host's link is half of its base
// round-trip time. The program reads the trial as lines of words from standard input (plan.py
// writes them). It writes two files to the folder of its argument: `packets`, with the times at
// which each packet was sent, offered to the queue, dequeued and received; and `said`, lines about
// everything else. All times are in nanoseconds.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

enum Way : uint8_t
{
    UP = 0,
    DOWN = 1
};

const char* const WAYS[] = {"up", "down"};

const uint16_t FIRST_PORT = 5000;

// Times and properties of a packet; a time of zero means never. The size of this record is a multiple
// of eight bytes, without padding between members.
struct Passage
{
    int64_t sent = 0;
    int64_t offered = 0; // to the queue
    int64_t out = 0;     // of the queue
    int64_t arrived = 0;
    uint32_t sequence = 0;
    uint16_t length = 0; // with the IP header
    uint16_t payload = 0;
    uint16_t flow = 0;
    uint16_t conn = 0;
    uint8_t way = 0;
    uint8_t lost = 0;
    uint8_t pad[2] = {0, 0};
};

static_assert(sizeof(Passage) == 48, "read by tables.py");

std::vector<Passage> g_passages;
std::ofstream g_said;

int64_t
Now()
{
    return Simulator::Now().GetNanoSeconds();
}

// The index of a packet in g_passages.
class Identity : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("aqmlab::Identity").SetParent<Tag>().AddConstructor<Identity>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 4;
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU32(place);
    }

    void Deserialize(TagBuffer buffer) override
    {
        place = buffer.ReadU32();
    }

    void Print(std::ostream& stream) const override
    {
        stream << place;
    }

    uint32_t place = 0;
};

// ---- Records of packets -----------------------------------------------------------------------

Passage
Dissect(Ptr<const Packet> packet)
{
    Passage made;
    Ptr<Packet> copy = packet->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    copy->RemoveHeader(ppp);
    made.length = copy->GetSize();
    copy->RemoveHeader(ip);
    if (ip.GetProtocol() == TcpL4Protocol::PROT_NUMBER)
    {
        TcpHeader tcp;
        copy->RemoveHeader(tcp);
        made.sequence = tcp.GetSequenceNumber().GetValue();
        made.conn = std::min(tcp.GetSourcePort(), tcp.GetDestinationPort()) - FIRST_PORT;
        made.payload = copy->GetSize();
    }
    return made;
}

void
Sent(uint16_t flow, Way way, Ptr<const Packet> packet)
{
    Passage made = Dissect(packet);
    made.sent = Now();
    made.flow = flow;
    made.way = way;
    Identity identity;
    identity.place = g_passages.size();
    g_passages.push_back(made);
    packet->AddPacketTag(identity);
}

void
Passed(int64_t Passage::*place, Ptr<const Packet> packet)
{
    Identity identity;
    if (packet->PeekPacketTag(identity))
    {
        g_passages[identity.place].*place = Now();
    }
}

void
Arrived(Ptr<const Packet> packet)
{
    Passed(&Passage::arrived, packet);
}

void
Offered(Ptr<const Packet> packet)
{
    Passed(&Passage::offered, packet);
}

void
Out(Ptr<const Packet> packet)
{
    Passed(&Passage::out, packet);
}

void
Lost(Ptr<const Packet> packet)
{
    Identity identity;
    if (packet->PeekPacketTag(identity))
    {
        g_passages[identity.place].lost = 1;
    }
}

// By direction and reason; reasons of marks begin with "+".
std::map<std::pair<int, std::string>, uint64_t> g_reasons;

void
Dropped(Way way, Ptr<const QueueDiscItem> item, const char* reason)
{
    ++g_reasons[{way, reason}];
    Lost(item->GetPacket());
}

void
Marked(Way way, Ptr<const QueueDiscItem>, const char* reason)
{
    ++g_reasons[{way, std::string("+") + reason}];
}

// ---- Hosts and the line -----------------------------------------------------------------------

using Words = std::vector<std::string>;

// Sets attributes of an object from words like "Attribute=value". ns-3 ends the program if an
// attribute is unknown.
void
Attributes(const Ptr<Object>& object, const Words& words, size_t from)
{
    for (size_t at = from; at < words.size(); ++at)
    {
        const size_t split = words[at].find('=');
        object->SetAttribute(words[at].substr(0, split), StringValue(words[at].substr(split + 1)));
    }
}

NodeContainer g_gateways; // the home's, the edge

NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, int64_t delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    return link.Install(a, b);
}

Ipv4InterfaceContainer
Address(const NetDeviceContainer& devices)
{
    static Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    const auto made = addresses.Assign(devices);
    addresses.NewNetwork();
    return made;
}

// link WAY RATE BURST TYPE QUANTUM ATTRIBUTE=VALUE...
void
Shape(Ptr<NetDevice> device, Way way, const Words& words)
{
    auto bucket = CreateObject<TbfQueueDisc>();
    bucket->SetAttribute("Rate", StringValue(words[2] + "bps"));
    bucket->SetAttribute("Burst", UintegerValue(std::stoul(words[3])));
    ObjectFactory factory(words[4]);
    auto discipline = factory.Create<QueueDisc>();
    Attributes(discipline, words, 6);
    discipline->SetNetDeviceQueueInterface(device->GetObject<NetDeviceQueueInterface>());
    const uint32_t quantum = std::stoul(words[5]);
    if (auto codel = DynamicCast<FqCoDelQueueDisc>(discipline))
    {
        codel->SetQuantum(quantum);
    }
    else if (auto pie = DynamicCast<FqPieQueueDisc>(discipline))
    {
        pie->SetQuantum(quantum);
    }
    discipline->Initialize();
    auto held = CreateObject<QueueDiscClass>();
    held->SetQueueDisc(discipline);
    bucket->AddQueueDiscClass(held);
    device->GetNode()->GetObject<TrafficControlLayer>()->SetRootQueueDiscOnDevice(device, bucket);
    discipline->TraceConnectWithoutContext("DropBeforeEnqueue", MakeBoundCallback(&Dropped, way));
    discipline->TraceConnectWithoutContext("DropAfterDequeue", MakeBoundCallback(&Dropped, way));
    discipline->TraceConnectWithoutContext("Mark", MakeBoundCallback(&Marked, way));
    device->TraceConnectWithoutContext("MacTx", MakeCallback(&Out));
}

struct Hosts
{
    Ptr<Node> home;
    Ptr<Node> wan;
    Ipv4Address homeAddress;
    Ipv4Address wanAddress;
};

std::vector<Hosts> g_hosts;

void
Lose(Ptr<NetDevice> device, const std::string& share)
{
    auto model = CreateObject<RateErrorModel>();
    model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    model->SetRate(std::stod(share));
    device->SetAttribute("ReceiveErrorModel", PointerValue(model));
    device->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&Lost));
}

Ptr<Node>
Host(Ptr<Node> gateway, const std::string& controller, int64_t delay, Way sends,
     const std::string& loss, Ipv4Address& address)
{
    const uint16_t flow = g_hosts.size();
    auto node = CreateObject<Node>();
    InternetStackHelper().Install(node);
    node->GetObject<TcpL4Protocol>()->SetAttribute("SocketType",
                                                   TypeIdValue(TypeId::LookupByName(controller)));
    const auto devices = Connect(node, gateway, delay);
    address = Address(devices).GetAddress(0);
    TrafficControlHelper().Uninstall(devices);
    devices.Get(0)->TraceConnectWithoutContext("MacTx", MakeBoundCallback(&Sent, flow, sends));
    devices.Get(0)->TraceConnectWithoutContext("MacRx", MakeCallback(&Arrived));
    devices.Get(1)->TraceConnectWithoutContext("MacRx", MakeCallback(&Offered));
    if (loss != "0")
    {
        Lose(devices.Get(0), loss);
    }
    return node;
}

// flow HOME-CONTROLLER WAN-CONTROLLER DELAY LOSS-UP LOSS-DOWN
void
AddFlow(const Words& words)
{
    Hosts hosts;
    hosts.home = Host(g_gateways.Get(0), words[1], 0, UP, words[5], hosts.homeAddress);
    hosts.wan = Host(g_gateways.Get(1), words[2], std::stoll(words[3]), DOWN, words[4],
                     hosts.wanAddress);
    g_hosts.push_back(hosts);
}

// ---- TCP --------------------------------------------------------------------------------------

// A transfer over a connection that the home host opens.
struct Transfer
{
    uint16_t flow;
    uint16_t conn;
    int64_t start;
    int64_t stop;    // when writing ends; 0 means never
    Way way;
    uint64_t size;   // in bytes; 0 means unlimited
    uint32_t buffer; // of the sender, in bytes
    uint64_t written = 0;
    uint64_t read = 0;
    uint32_t window = 0;
    uint32_t largest = 0;
    bool closed = false;
    Ptr<Socket> listener;
    Ptr<Socket> client;
    Ptr<Socket> sender;

    // Keeps up to twice the largest window so far in the send buffer, because Linux's send buffer
    // grows and never shrinks.
    void Fill(Ptr<Socket> socket, uint32_t)
    {
        const bool over = stop != 0 && Now() >= stop;
        while (!closed && !over)
        {
            const uint64_t held = buffer - socket->GetTxAvailable();
            const uint64_t ahead = std::max<uint64_t>(2 * largest, 128 << 10);
            uint64_t room = held < ahead ? std::min<uint64_t>(ahead - held, buffer - held) : 0;
            room = std::min<uint64_t>(room, 64 << 10);
            if (size != 0)
            {
                room = std::min(room, size - written);
            }
            if (room == 0)
            {
                break;
            }
            const int took = socket->Send(Create<Packet>(room));
            if (took <= 0)
            {
                break;
            }
            written += took;
        }
        if (!closed && (over || (size != 0 && written == size)))
        {
            closed = true;
            socket->Close();
        }
    }

    void Read(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            read += packet->GetSize();
            if (size != 0 && read == size)
            {
                g_said << "done " << flow << ' ' << conn << ' ' << Now() << '\n';
            }
        }
    }

    void Window(uint32_t, uint32_t now)
    {
        window = now;
        largest = std::max(largest, now);
    }

    void Sends(Ptr<Socket> socket)
    {
        sender = socket;
        UintegerValue segments;
        UintegerValue bytes;
        socket->GetAttribute("InitialCwnd", segments);
        socket->GetAttribute("SegmentSize", bytes);
        window = largest = segments.Get() * bytes.Get();
        socket->TraceConnectWithoutContext("CongestionWindow",
                                           MakeCallback(&Transfer::Window, this));
        socket->SetSendCallback(MakeCallback(&Transfer::Fill, this));
        Fill(socket, 0);
        if (stop != 0)
        {
            Simulator::Schedule(NanoSeconds(stop - Now()), &Transfer::Fill, this, socket, 0);
        }
    }

    void Accepted(Ptr<Socket> socket, const ns3::Address&)
    {
        if (way == DOWN)
        {
            Sends(socket);
        }
        else
        {
            socket->SetRecvCallback(MakeCallback(&Transfer::Read, this));
        }
    }

    void Connected(Ptr<Socket> socket)
    {
        if (way == UP)
        {
            Sends(socket);
        }
    }

    void PeerClosed(Ptr<Socket> socket)
    {
        if (socket != sender)
        {
            socket->Close();
        }
    }

    void Closes(Ptr<Socket> socket)
    {
        socket->SetCloseCallbacks(MakeCallback(&Transfer::PeerClosed, this),
                                  MakeNullCallback<void, Ptr<Socket>>());
    }

    void Take(Ptr<Socket> socket, const ns3::Address& from)
    {
        Closes(socket);
        Accepted(socket, from);
    }

    void Listen()
    {
        const Hosts& hosts = g_hosts[flow];
        listener = Socket::CreateSocket(hosts.wan, TcpSocketFactory::GetTypeId());
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), FIRST_PORT + conn));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const ns3::Address&>(),
                                    MakeCallback(&Transfer::Take, this));
    }

    void Open()
    {
        const Hosts& hosts = g_hosts[flow];
        client = Socket::CreateSocket(hosts.home, TcpSocketFactory::GetTypeId());
        client->SetConnectCallback(MakeCallback(&Transfer::Connected, this),
                                   MakeNullCallback<void, Ptr<Socket>>());
        if (way == DOWN)
        {
            client->SetRecvCallback(MakeCallback(&Transfer::Read, this));
        }
        Closes(client);
        client->Bind();
        client->Connect(InetSocketAddress(hosts.wanAddress, FIRST_PORT + conn));
    }
};

std::deque<std::unique_ptr<Transfer>> g_transfers;

// tcp FLOW CONN START STOP WAY SIZE BUFFER
void
AddTransfer(const Words& words)
{
    auto made = std::make_unique<Transfer>();
    made->flow = std::stoul(words[1]);
    made->conn = std::stoul(words[2]);
    made->start = std::stoll(words[3]);
    made->stop = std::stoll(words[4]);
    made->way = words[5] == "up" ? UP : DOWN;
    made->size = std::stoull(words[6]);
    made->buffer = std::stoul(words[7]);
    made->Listen();
    Simulator::Schedule(NanoSeconds(made->start), &Transfer::Open, made.get());
    g_transfers.push_back(std::move(made));
}

void
SampleWindows(int64_t step)
{
    for (const auto& one : g_transfers)
    {
        if (one->sender && one->conn == 0)
        {
            g_said << "window " << one->flow << ' ' << one->way + 0 << ' ' << Now() << ' '
                   << one->window << '\n';
        }
    }
    Simulator::Schedule(NanoSeconds(step), &SampleWindows, step);
}

// ---- Datagrams --------------------------------------------------------------------------------

// Datagrams at a constant rate in one direction. A datagram of equal size answers each probe.
struct Datagrams
{
    uint16_t flow;
    int64_t stop;
    int64_t interval;
    uint32_t payload;
    bool probes;
    Ptr<Socket> sender;
    Ptr<Socket> receiver;
    uint64_t count = 0;

    void Send()
    {
        if (Now() >= stop)
        {
            return;
        }
        sender->Send(Create<Packet>(payload));
        ++count;
        Simulator::Schedule(NanoSeconds(interval), &Datagrams::Send, this);
    }

    void Take(Ptr<Socket> socket)
    {
        ns3::Address from;
        while (Ptr<Packet> packet = socket->RecvFrom(from))
        {
            if (probes)
            {
                socket->SendTo(Create<Packet>(packet->GetSize()), 0, from);
            }
        }
    }

    void Discard(Ptr<Socket> socket)
    {
        while (socket->Recv())
        {
        }
    }

    void Open(Way way, int64_t start)
    {
        const Hosts& hosts = g_hosts[flow];
        const auto type = UdpSocketFactory::GetTypeId();
        receiver = Socket::CreateSocket(way == UP ? hosts.wan : hosts.home, type);
        receiver->Bind(InetSocketAddress(Ipv4Address::GetAny(), FIRST_PORT));
        receiver->SetRecvCallback(MakeCallback(&Datagrams::Take, this));
        sender = Socket::CreateSocket(way == UP ? hosts.home : hosts.wan, type);
        sender->Bind();
        sender->Connect(
            InetSocketAddress(way == UP ? hosts.wanAddress : hosts.homeAddress, FIRST_PORT));
        sender->SetRecvCallback(MakeCallback(&Datagrams::Discard, this));
        Simulator::Schedule(NanoSeconds(start), &Datagrams::Send, this);
    }
};

std::deque<std::unique_ptr<Datagrams>> g_datagrams;

// udp FLOW START STOP WAY INTERVAL PAYLOAD PROBES
void
AddDatagrams(const Words& words)
{
    auto made = std::make_unique<Datagrams>();
    made->flow = std::stoul(words[1]);
    made->stop = std::stoll(words[3]);
    made->interval = std::stoll(words[5]);
    made->payload = std::stoul(words[6]);
    made->probes = words[7] == "1";
    made->Open(words[4] == "up" ? UP : DOWN, std::stoll(words[2]));
    g_datagrams.push_back(std::move(made));
}

// ---- A trial ----------------------------------------------------------------------------------

// default ATTRIBUTE VALUE (before any object is created); run SEED DURATION SAMPLE
bool
Begin(const Words& words, int64_t& duration)
{
    if (words[0] == "default")
    {
        Config::SetDefault(words[1], StringValue(words[2]));
        return true;
    }
    if (words[0] != "run")
    {
        return false;
    }
    RngSeedManager::SetRun(std::stoull(words[1]) + 1);
    duration = std::stoll(words[2]);
    g_gateways.Create(2);
    InternetStackHelper().Install(g_gateways);
    const int64_t step = std::stoll(words[3]);
    Simulator::Schedule(NanoSeconds(step), &SampleWindows, step);
    return true;
}

void
Read(std::istream& stream, int64_t& duration)
{
    NetDeviceContainer line;
    const std::map<std::string, std::function<void(const Words&)>> known = {
        {"link",
         [&line](const Words& words) {
             if (line.GetN() == 0)
             {
                 line = Connect(g_gateways.Get(0), g_gateways.Get(1), 0);
                 Address(line);
                 TrafficControlHelper().Uninstall(line);
             }
             const Way way = words[1] == "up" ? UP : DOWN;
             Shape(line.Get(way), way, words);
         }},
        {"flow", AddFlow},
        {"tcp", AddTransfer},
        {"udp", AddDatagrams},
    };
    for (std::string text; std::getline(stream, text);)
    {
        std::istringstream split(text);
        const Words words{std::istream_iterator<std::string>(split), {}};
        if (!words.empty() && !Begin(words, duration))
        {
            known.at(words[0])(words);
        }
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 2)
    {
        std::fprintf(stderr, "usage: %s FOLDER < TRIAL\n", argv[0]);
        return 2;
    }
    const std::string folder = argv[1];
    g_said.open(folder + "/said");
    int64_t duration = 0;
    Read(std::cin, duration);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(NanoSeconds(duration));
    Simulator::Run();
    for (const auto& [what, count] : g_reasons)
    {
        g_said << "reason " << WAYS[what.first] << ' ' << count << ' ' << what.second << '\n';
    }
    g_said.close();
    std::ofstream packets(folder + "/packets", std::ios::binary);
    packets.write(reinterpret_cast<const char*>(g_passages.data()),
                  g_passages.size() * sizeof(Passage));
    packets.close();
    return packets.good() && g_said.good() ? 0 : 1;
}
