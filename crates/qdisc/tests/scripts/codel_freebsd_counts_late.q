# FreeBSD 10.4 dn_aqm_codel.h: count rises only if the packet behind the dropped packet is also
# late. The first Newton step starts from 0.7, so the second gap is 70.7 ms, as in the RFC.
codel_freebsd limit=20

   0ms  in   1..12
   6ms  out  1
 106ms  out  3   drop 2
 206ms  out  5   drop 4
 276ms  out  6
 277ms  out  8   drop 7
 300ms  out  9..12
 301ms  out
