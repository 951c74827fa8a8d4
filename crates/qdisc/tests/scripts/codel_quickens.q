# RFC 8289 §5: CoDel signals only after a whole interval above target, and then at shorter gaps.
# Defaults: target 5 ms, interval 100 ms. Twelve packets of 1000 bytes arrive at once.
codel_rfc

   0ms  in   1..12
   4ms  out  1            # waited 4 ms: below target
   6ms  out  2            # above target: an interval begins
 105ms  out  3            # the interval has not ended
 106ms  out  5   drop 4   # it ends now; the next signal is due 100 ms later
 205ms  out  6
 206ms  out  8   drop 7   # the next is due 100 / sqrt(2) = 70.7 ms later
 276ms  out  9
 277ms  out  11  drop 10  # one packet is left, so CoDel ends the dropping state
 300ms  out  12
 301ms  out
