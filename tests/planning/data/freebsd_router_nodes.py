TPCONF_router = ['r']
TPCONF_hosts = ['a', 'b', 'c', 'd']
TPCONF_host_os = {'r': 'FreeBSD', 'a': 'FreeBSD', 'b': 'FreeBSD', 'c': 'FreeBSD', 'd': 'Linux'}
TPCONF_host_internal_ip = {
    'r': ['172.16.10.1', '172.16.11.1'], 'a': ['172.16.10.2'], 'b': ['172.16.10.3'],
    'c': ['172.16.11.2'], 'd': ['172.16.11.3'],
}
