# Linux codel_dequeue with ecn: one mark per dequeue, and the marked packet is delivered (C-13).
# A packet that is not ECN-capable is dropped where it would be marked (C-14).
codel ecn=true

   0ms  in   1..9 ect
   0ms  in   10..14
   6ms  out  1
 107ms  out  2   mark 2   # the first signal: packet 2 is marked and delivered
 206ms  out  3
 400ms  out  4   mark 4   # four signals are overdue, but each dequeue sends one
 400ms  out  5   mark 5
 400ms  out  6   mark 6
 400ms  out  7   mark 7   # the next signal is due at 406 ms
 400ms  out  8
 500ms  out  9   mark 9   # two more signals are due, for packets that cannot be marked
 500ms  out  12  drop 10 11
 500ms  out  13 14
