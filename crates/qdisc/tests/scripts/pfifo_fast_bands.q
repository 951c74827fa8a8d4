# Linux prio2band: priorities 6 and 7 are served first, then 0 (best effort), then 2 (bulk).
pfifo_fast

   0ms  in   1 prio 2
   0ms  in   2 prio 0
   0ms  in   3 prio 6
   0ms  in   4 prio 7
   1ms  out  3 4 2 1
