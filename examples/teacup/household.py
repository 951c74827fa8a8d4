# This is an evening at home, as a config for TEACUP 1.0 (https://caia.swin.edu.au/tools/teacup).
#
# One home with one access line has a download, an upload, a game and a film. The testbed has four
# PCs and a router. `aqmlab run examples/teacup/household.py` reads the file unchanged and needs no
# testbed. The file names machines and switches because TEACUP requires them.

import datetime
import sys

from fabric.api import env

# The accounts on the testbed's machines
env.user = "root"
env.password = "none"
env.shell = "/bin/sh -c"

TPCONF_script_path = "/home/teacup/teacup-1.0"
sys.path.append(TPCONF_script_path)
TPCONF_debug_level = 0

# The machines: two in the home, two on the internet, and a router
TPCONF_router = ["gateway"]
TPCONF_hosts = ["pc", "console", "cdn", "friend"]

TPCONF_host_internal_ip = {
    "gateway": ["192.168.10.1", "192.168.20.1"],
    "pc": ["192.168.10.2"],
    "console": ["192.168.10.3"],
    "cdn": ["192.168.20.2"],
    "friend": ["192.168.20.3"],
}

TPCONF_host_os = {
    "gateway": "Linux",
    "pc": "Linux",
    "console": "FreeBSD",
    "cdn": "FreeBSD",
    "friend": "Linux",
}

now = datetime.datetime.today()
TPCONF_test_id = now.strftime("%Y%m%d-%H%M%S") + "_household"
TPCONF_remote_dir = "/tmp/"
TPCONF_max_time_diff = 1
TPCONF_web10g_poll_interval = 10

# The access line: the queue from the home and the queue to the home
TPCONF_router_queues = [
    (
        "1",
        " source='192.168.10.0/24', dest='192.168.20.0/24', delay=V_delay, loss=0, "
        " rate=V_up_rate, queue_disc=V_aqm, queue_size=V_bsize ",
    ),
    (
        "2",
        " source='192.168.20.0/24', dest='192.168.10.0/24', delay=V_delay, loss=0, "
        " rate=V_down_rate, queue_disc=V_aqm, queue_size=V_bsize ",
    ),
]

# The traffic. Times are in seconds from the start of an experiment.
traffic_household = [
    ("0.0", "1", " start_ping, client='pc', dest='cdn', rate=10, duration=V_duration "),
    # A film in segments of two seconds
    ("0.0", "2", " start_http_server, server='cdn', port=80 "),
    (
        "1.0",
        "3",
        " start_dash_streaming_dashjs, client='pc', serv='cdn', serv_port=80, "
        " duration=59, chunk_size=2 ",
    ),
    # A game of four players on a server on the internet
    (
        "2.0",
        "4",
        " start_fps_game, clients='console:27960', server='friend:27960', "
        " game_type='q3', noclients_game=4, duration=58, client_start_delay=1 ",
    ),
    # An update of the console, which takes half a minute
    ("10.0", "5", " start_iperf, client='cdn', server='console', port=5001, duration=30 "),
    # A backup until the end of the experiment
    ("20.0", "6", " start_iperf, client='pc', server='friend', port=5002, duration=40 "),
]
TPCONF_traffic_gens = traffic_household

# The parameters that can be varied
TPCONF_parameter_list = {
    "delays": (["V_delay"], ["delay"], [10, 40], {}),
    "rates": (
        ["V_down_rate", "V_up_rate"],
        ["down", "up"],
        [("12mbit", "1mbit"), ("25mbit", "5mbit")],
        {},
    ),
    "aqms": (["V_aqm"], ["aqm"], ["pfifo", "fq_codel"], {}),
    "bsizes": (["V_bsize"], ["bs"], [200], {}),
    "runs": (["V_runs"], ["run"], range(2), {}),
}

# The values of parameters that are not varied
TPCONF_variable_defaults = {
    "V_ecn": 0,
    "V_duration": 60.0,
    "V_delay": 10,
    "V_loss": 0,
    "V_down_rate": "12mbit",
    "V_up_rate": "1mbit",
    "V_tcp_cc_algo": "default",
    "V_aqm": "pfifo",
    "V_bsize": 200,
}

# The varied parameters: 2 rates, 2 delays and 2 queues, with 2 runs each
TPCONF_vary_parameters = ["rates", "delays", "aqms", "runs"]
