# Linux 3.5 to 4.6, with an error that lasted until 2026: an empty queue does not end the interval
# above target. Beside a bulk flow, a flow of occasional packets therefore loses its next packet.
fq_codel_linux_3_5 salt=1

   0ms  in   1..9 len 1514
   0ms  in   10 flow 1 len 100
   6ms  out  1
   6ms  out  10               # it waited 6 ms with 12 kB behind it: an interval begins
   6ms  out  2                # the queue of packet 10 is empty, but the interval continues
 200ms  in   20 flow 1 len 100
 206ms  out  4 drop 20 3
