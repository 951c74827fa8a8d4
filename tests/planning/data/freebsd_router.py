# One FreeBSD router; queues by host, one bidirectional pipe, sizes in bytes and in packets.
execfile('freebsd_router_nodes.py')
print 'reading', TPCONF_router
print

TPCONF_test_id = 'exp_pipes'
TPCONF_router_queues = [
    ('1', "source='172.16.10.2', dest='172.16.11.0/24', rate=1000000, delay=20, "
          "queue_disc='fifo', queue_size='100Kbytes'"),
    ('2', "source='172.16.11.0/24', dest='172.16.10.2', rate=8000000, delay=20, "
          "queue_disc='fq_pie', queue_size=600, queue_disc_params='target 15ms quantum 300 ecn'"),
    ('3', "source='172.16.10.3', dest='172.16.11.0/24', rate=2000000, delay=5, loss=0.5, "
          "queue_disc='codel', queue_size=50, bidir='1'"),
    ('4', "source='172.16.10.0/24', dest='172.16.11.3', delay=100"),
]
TPCONF_traffic_gens = [
    ('0', '1', "start_iperf, client='a', server='c', port=1, duration=10"),
    ('0', '2', "start_iperf, client='d', server='b', port=2, duration=10"),
    ('12', '3', "start_ping, client='a', dest='d'"),
]
TPCONF_duration = 10
if 1 / 2 == 0:
    TPCONF_duration += 5
def unused():
    return 1
TPCONF_variable_defaults = dict(V_duration=TPCONF_duration)
TPCONF_variable_defaults = {'V_duration': TPCONF_duration}
