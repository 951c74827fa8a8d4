# Linux sch_fq_codel.c: credit of exactly zero is used up, so flows alternate packet by packet.
fq_codel quantum=1000 salt=1

   0ms  in   1..3
   0ms  in   11..13 flow 1
   1ms  out  1 11 2 12 3 13
   1ms  out
