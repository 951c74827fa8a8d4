// The benchmark's dumbbell in ns-3: n bulk TCP CUBIC flows from left to right through one
// bottleneck under FIFO or FQ-CoDel, and acknowledgements over a return link of the same rate.
//
// Prints one line: the data packets that the bottleneck sent, and the CPU seconds of the run without
// its set-up.

#include <cstdio>
#include <ctime>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace
{

uint64_t g_forwarded = 0;

void
CountForwarded(Ptr<const Packet>)
{
    ++g_forwarded;
}

NetDeviceContainer
Connect(Ptr<Node> a, Ptr<Node> b, const std::string& rate, const std::string& delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    // The device holds one packet, so the queue forms in the discipline above it.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    return link.Install(a, b);
}

void
InstallDiscipline(const NetDeviceContainer& devices, const std::string& discipline, uint32_t limit)
{
    TrafficControlHelper helper;
    const std::string size = std::to_string(limit) + "p";
    if (discipline == "fq_codel")
    {
        helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", StringValue(size));
    }
    else
    {
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", StringValue(size));
    }
    helper.Install(devices);
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string rate = "50Mbps";
    std::string discipline = "fifo";
    double rttMs = 40;
    double durationS = 60;
    uint32_t flows = 2;
    uint32_t limit = 200;
    CommandLine cmd;
    cmd.AddValue("rate", "bottleneck rate", rate);
    cmd.AddValue("qdisc", "fifo or fq_codel", discipline);
    cmd.AddValue("rtt", "base round-trip time in ms", rttMs);
    cmd.AddValue("duration", "simulated seconds", durationS);
    cmd.AddValue("flows", "bulk flows", flows);
    cmd.AddValue("limit", "packets in the bottleneck's queue", limit);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));

    NodeContainer hosts;
    hosts.Create(2);
    NodeContainer routers;
    routers.Create(2);
    InternetStackHelper().Install(NodeContainer(hosts, routers));

    const std::string edge = std::to_string(rttMs / 4) + "ms";
    const auto left = Connect(hosts.Get(0), routers.Get(0), "10Gbps", edge);
    const auto middle = Connect(routers.Get(0), routers.Get(1), rate, "0ms");
    const auto right = Connect(routers.Get(1), hosts.Get(1), "10Gbps", edge);
    InstallDiscipline(middle, discipline, limit);

    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    addresses.Assign(left);
    addresses.NewNetwork();
    addresses.Assign(middle);
    addresses.NewNetwork();
    const auto rightAddresses = addresses.Assign(right);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    for (uint32_t flow = 0; flow < flows; ++flow)
    {
        const uint16_t port = 5000 + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(hosts.Get(1)).Start(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(rightAddresses.GetAddress(1), port));
        auto app = source.Install(hosts.Get(0));
        app.Start(MilliSeconds(10 * flow));
        app.Stop(Seconds(durationS));
    }
    middle.Get(0)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&CountForwarded));

    const std::clock_t before = std::clock();
    Simulator::Stop(Seconds(durationS));
    Simulator::Run();
    const double cpu = double(std::clock() - before) / CLOCKS_PER_SEC;
    std::printf("{\"packets\": %llu, \"cpu_s\": %.6f}\n",
                static_cast<unsigned long long>(g_forwarded),
                cpu);
    Simulator::Destroy();
    return 0;
}
