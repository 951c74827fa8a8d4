# RFC 8290 §4.2: new flows are served first, for one quantum each. Then they are old flows.
fq_codel_rfc quantum=1000 salt=1

   0ms  in   1..4
   0ms  in   11 12 flow 1
   1ms  out  1                # flow 0 is the first new flow; 1000 bytes leave a credit of zero
   1ms  out  2                # a credit of zero is not negative, so flow 0 is served again
   1ms  out  11 12            # flow 0 is old now, flow 1 new
   1ms  in   21 flow 2        # flow 2 becomes active as a new flow, so it is served first
   1ms  out  21
   1ms  out  3 4
   1ms  out
