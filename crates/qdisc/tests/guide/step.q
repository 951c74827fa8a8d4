# A packet that waited longer than 20 ms is marked if it is ECN-capable, and else dropped.
step limit=4

   0ms  in   1..5 drop 5      # offers five packets; the queue has room for four
   0ms  out  1                # takes the first, which has not waited
  20ms  out  2                # 20 ms are not longer than the threshold
  21ms  out  drop 3 4         # both waited too long, and no packet remains
  30ms  in   6 ect
  51ms  out  6 mark 6         # an ECN-capable packet is marked and delivered
