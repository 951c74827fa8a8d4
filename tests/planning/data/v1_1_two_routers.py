# Two routers in series with two subnets behind the first, in the notation of TEACUP 1.1.
import sys, datetime
from fabric.api import env

env.user = 'root'
env.pool_size = 10
TPCONF_script_path = '/home/teacup/teacup-1.1'
sys.path.append(TPCONF_script_path)

TPCONF_router = ['gateway', 'isp']
TPCONF_hosts = ['desktop', 'tablet', 'server1', 'server2']
TPCONF_host_internal_ip = {
    'gateway': ['10.0.1.1', '10.0.2.1', '10.0.9.1'],
    'isp': ['10.0.9.2', '10.0.3.1'],
    'desktop': ['10.0.1.10'],
    'tablet': ['10.0.2.10'],
    'server1': ['10.0.3.10'],
    'server2': ['10.0.3.11'],
}
TPCONF_host_os = {
    'gateway': 'Linux', 'isp': 'Linux',
    'desktop': 'Linux', 'tablet': 'Darwin', 'server1': 'FreeBSD', 'server2': 'CYGWIN',
}
TPCONF_linux_kern_router = '5.10.0-aqm'
TPCONF_linux_kern_hosts = '3.17.4-vanilla-web10g'
TPCONF_linux_tcp_logger = 'both'
TPCONF_config_topology = '1'
TPCONF_boot_timeout = 100

TPCONF_test_id = 'exp_' + datetime.datetime.now().strftime("%Y%m%d-%H%M%S")

gateway_queues = []
for number, net in enumerate(['10.0.1.0/24', '10.0.2.0/24']):
    gateway_queues.append((str(2 * number + 1), "source='%s', dest='10.0.3.0/24', "
        "rate=V_up_rate, queue_disc=V_aqm, queue_size='bdp', rtt=100, "
        "queue_size_mult='2.0', attach_to_queue=''" % net))
    gateway_queues.append((str(2 * number + 2), "source='10.0.3.0/24', dest='%s', "
        "rate=V_down_rate, queue_disc=V_aqm, queue_size=V_bsize, "
        "queue_disc_params=V_aqm_params" % net))

isp_queues = [
    ('1', "source='10.0.0.0/16', dest='10.0.3.0/24', delay=V_delay, loss=V_loss, bidir='1'"),
]
TPCONF_router_queues = {'gateway': gateway_queues, 'isp': isp_queues}

TPCONF_traffic_gens = [
    ('0.0', '1', " start_nginx_server, server='server1', port=80, docroot='/data' "),
    ('0.5', '2', " start_dash_streaming_dashjs, client='desktop', serv='server1', "
        "serv_port=80, duration=V_duration, browser='firefox', chunk_size=V_chunk, "
        "mpd='BigBuckBunny_4s.mpd', player_path='/dash.js' "),
    ('1.0', '3', " start_ping, client='tablet', dest='server1', rate=10, duration=V_duration-5 "),
    ('1.0', '4', " start_nttcp, client='tablet', server='server2', port=5037, "
        "duration=V_duration, interval=20, psize=700, buf_size=100000 "),
    ('1.0', '5', " start_nttcp, client='server2', server='tablet', port=5038, "
        "duration=V_duration, interval=20, psize=700 "),
    ('2.0', '6', " start_httperf_incast, client='desktop', servers='server1:80,server2:80', "
        "duration=10, period=2, response_size=64, "),
    ('2.0', '7', " start_httperf_dash, client='tablet', server='server1', port=80, duration=20, "
        "rate=500, cycle=5, prefetch=2.0 "),
    ('2.0', '8', " start_httperf, client='tablet', server='server1', port=80, conns=1 "),
    ('3.0', '9', " start_fps_game, clients='desktop:10000,tablet:10000', "
        "server='server2:27960', game_type='hl2dm', duration=20, noclients_game='8' "),
    ('3.0', '20', " start_iperf, client='server1', server='desktop', port=5000, proto='udp', "
        "rate='2mbit', duration=10 "),
    ('3.0', '21', " start_iperf, client='desktop', server='server2', port=5001, duration=20, "
        "buf_size=300000, mss=1400, congestion_algo='newreno' "),
    ('3.0', '22', " start_iperf, client='desktop', server='tablet', port=5002, duration=5 "),
    ('4.0', '23', " start_owamp, client='desktop' "),
    ('4.0', '24', " start_iprf, client='desktop', server='server1', port=5003 "),
]

TPCONF_duration = 30
TPCONF_runs = 2
TPCONF_ECN = ['0', '1']
TPCONF_TCP_algos = ['default', 'host1', 'cdg']
TPCONF_host_TCP_algos = {
    'desktop': ['cubic', 'newreno'], 'tablet': ['newreno'],
    'server1': ['newreno', 'cubic'], 'server2': ['compound'],
}
TPCONF_host_init_custom_cmds = {
    'server1': ['sysctl net.inet.tcp.recvspace=131072', 'echo V_ecn > /tmp/x'],
}
TPCONF_parameter_list = {
    'ecns': (['V_ecn'], ['ecn'], TPCONF_ECN, {}),
    'tcpalgos': (['V_tcp_cc_algo'], ['tcp'], TPCONF_TCP_algos, {}),
    'delays': (['V_delay'], ['del'], [10 * n for n in range(1, 3)], {'V_loss': 0.01}),
    'runs': (['V_runs'], ['run'], range(TPCONF_runs), {}),
}
TPCONF_variable_defaults = {
    'V_ecn': TPCONF_ECN[0], 'V_tcp_cc_algo': TPCONF_TCP_algos[0], 'V_duration': TPCONF_duration,
    'V_delay': 10, 'V_loss': 0, 'V_up_rate': '2mbit', 'V_down_rate': '20mbit',
    'V_aqm': 'pie', 'V_aqm_params': 'target 20ms noecn bytemode', 'V_bsize': 600, 'V_chunk': 4,
}
TPCONF_vary_parameters = ['tcpalgos', 'ecns', 'delays', 'runs']
