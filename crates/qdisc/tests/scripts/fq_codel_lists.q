# RFC 8290 §4.2: new flows go first, one quantum each; then they are old flows.
fq_codel_rfc quantum=1000 salt=1

   0ms  in   1..4
   0ms  in   11 12 flow 1
   1ms  out  1                # flow 0 is first of the new; 1000 bytes leave it a credit of zero
   1ms  out  2                # zero is not negative: it goes on
   1ms  out  11 12            # flow 0 is old now, flow 1 new
   1ms  in   21 flow 2        # a flow that wakes goes first
   1ms  out  21
   1ms  out  3 4
   1ms  out
