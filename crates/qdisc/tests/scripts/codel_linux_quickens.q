# Linux signals only after the end of the interval, and the RFC also at its end. Linux's first
# Newton step starts from 1, so the second gap is 0.5 intervals; in the RFC it is 0.707 intervals.
codel

   0ms  in   1..14
   6ms  out  1            # above target: an interval begins, in ticks of 1024 ns
 106ms  out  2            # the tick in which the interval ends is not after its end
 107ms  out  4   drop 3   # the next signal is due 100 ms later
 206ms  out  5
 207ms  out  7   drop 6   # the next is due 50 ms later
 256ms  out  8
 257ms  out  10  drop 9   # the next is due 56.25 ms later, at 313.2 ms
 313ms  out  11
 314ms  out  13  drop 12  # one packet is behind 13, so CoDel does not signal it
 400ms  out  14
 401ms  out
