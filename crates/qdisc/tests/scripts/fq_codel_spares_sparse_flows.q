# A flow of occasional packets beside a bulk flow is never signalled, although more than one MTU
# waits behind its packets: an empty queue ends the interval above target (Linux 815980fe6dbb).
# Before this commit, packet 20 and each later ping were dropped.
fq_codel salt=1

   0ms  in   1..9 len 1514 ect
   0ms  in   10 flow 1 len 100
   6ms  out  1                # the bulk flow is first; its queue is above target
   6ms  out  10               # the ping is above target: it waited 6 ms, and 12 kB wait behind it
   6ms  out  2                # the ping's queue is empty, which ends its interval
 200ms  in   20 flow 1 len 100
 206ms  out  20
 206ms  out  3 mark 3         # the bulk flow has been above target for an interval
 400ms  in   30 flow 1 len 100
 406ms  out  30
 406ms  out  4 mark 4
