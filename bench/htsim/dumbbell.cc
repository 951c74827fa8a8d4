// The benchmark's dumbbell in csg-htsim: n bulk TCP flows through one bottleneck under FIFO,
// and acknowledgements over a return link of the same rate.
//
// csg-htsim has no CUBIC, no selective acknowledgements and no delayed acknowledgements. Its TCP is
// Reno with an acknowledgement for each segment.
//
// Prints one line: the data packets that arrived, and the CPU seconds of the run without its set-up.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

int
main(int argc, char* argv[])
{
    if (argc != 6)
    {
        std::fprintf(stderr, "usage: dumbbell FLOWS MBIT RTT_MS LIMIT_PACKETS SECONDS\n");
        return 2;
    }
    const int flows = std::atoi(argv[1]);
    const uint64_t mbit = std::strtoull(argv[2], nullptr, 10);
    const double rtt_ms = std::atof(argv[3]);
    const int limit = std::atoi(argv[4]);
    const double seconds = std::atof(argv[5]);

    // The library writes to the standard output.
    std::cout.setstate(std::ios_base::failbit);
    EventList eventlist;
    eventlist.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(1500);
    const linkspeed_bps rate = speedFromMbps(mbit);
    Queue down(rate, memFromPkt(limit), eventlist, nullptr);
    Queue up(rate, memFromPkt(limit), eventlist, nullptr);
    Pipe down_delay(timeFromMs(rtt_ms / 2), eventlist);
    Pipe up_delay(timeFromMs(rtt_ms / 2), eventlist);
    TcpRtxTimerScanner timers(timeFromMs(10), eventlist);

    std::vector<TcpSink*> sinks;
    for (int i = 0; i < flows; ++i)
    {
        auto* source = new TcpSrc(nullptr, nullptr, eventlist);
        auto* sink = new TcpSink();
        timers.registerTcp(*source);
        auto* there = new route_t();
        there->push_back(&down);
        there->push_back(&down_delay);
        there->push_back(sink);
        auto* back = new route_t();
        back->push_back(&up);
        back->push_back(&up_delay);
        back->push_back(source);
        source->connect(*there, *back, *sink, timeFromMs(10.0 * i));
        sinks.push_back(sink);
    }

    const std::clock_t begun = std::clock();
    while (eventlist.doNextEvent())
    {
    }
    const double cpu_s = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
    uint64_t packets = 0;
    for (const TcpSink* sink : sinks)
    {
        packets += sink->_packets / Packet::data_packet_size();
    }
    std::printf("{\"packets\": %llu, \"cpu_s\": %.6f}\n",
                static_cast<unsigned long long>(packets),
                cpu_s);
    return 0;
}
