# Linux 3.5 to 4.6 (and on to 2026): beside a bulk flow, a flow of one packet now and then is taken
# to be above target for as long as its queue is empty, and loses the packet that comes next.
fq_codel_linux_3_5 salt=1

   0ms  in   1..9 len 1514
   0ms  in   10 flow 1 len 100
   6ms  out  1
   6ms  out  10               # waited 6 ms with 12 kB behind it: the law is armed
   6ms  out  2                # and stays so, though the queue is found empty
 200ms  in   20 flow 1 len 100
 206ms  out  4 drop 20 3
