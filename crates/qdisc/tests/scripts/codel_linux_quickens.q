# Linux: the same law, but the interval must be over and not just reached, and the first Newton
# step from 1 gives a second gap of half an interval instead of 0.707 of one.
codel

   0ms  in   1..14
   6ms  out  1            # above target: an interval begins, in ticks of 1024 ns
 106ms  out  2            # the tick in which it ends is not yet after it
 107ms  out  4   drop 3   # the next is due 100 ms later
 206ms  out  5
 207ms  out  7   drop 6   # and then 50 ms later
 256ms  out  8
 257ms  out  10  drop 9   # then 56.25 ms later, at 313.2 ms
 313ms  out  11
 314ms  out  13  drop 12  # one packet left behind 13: never bad
 400ms  out  14
 401ms  out
