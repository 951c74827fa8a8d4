# Beside a bulk flow, a flow of one packet now and then is never signalled, though its packets
# find more than one MTU in the queue: an empty queue disarms CoDel (Linux 815980fe6dbb).
# Before that fix packet 20 and each ping after it were dropped.
fq_codel salt=1

   0ms  in   1..9 len 1514 ect
   0ms  in   10 flow 1 len 100
   6ms  out  1                # the bulk flow is first; its queue is above target
   6ms  out  10               # so is the ping: it waited 6 ms, and 12 kB wait behind it
   6ms  out  2                # the ping's queue is found empty, and forgets it was above
 200ms  in   20 flow 1 len 100
 206ms  out  20
 206ms  out  3 mark 3         # what bulk traffic deserves
 400ms  in   30 flow 1 len 100
 406ms  out  30
 406ms  out  4 mark 4
