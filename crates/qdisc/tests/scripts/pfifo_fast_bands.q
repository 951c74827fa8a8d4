# Linux prio2band: 6 and 7 go first, 0 is best effort, 2 is bulk.
pfifo_fast

   0ms  in   1 prio 2
   0ms  in   2 prio 0
   0ms  in   3 prio 6
   0ms  in   4 prio 7
   1ms  out  3 4 2 1
