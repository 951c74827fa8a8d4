"""`aqmlab cluster`: shows how to start a Dask cluster."""

from __future__ import annotations

from aqmlab.base.errors import suggestion
from aqmlab.base.failures import RequestError
from aqmlab.cli.parameters.cluster import ClusterParameters

_HEAD = """\
# Install the same build of aqmlab, with Dask, on every machine including this one.
# A build is a wheel:
#   pip wheel --no-deps --wheel-dir dist .                       # once, in aqmlab's sources
#   pip install 'aqmlab[dask] @ file:///PATH/TO/dist/WHEEL.whl'  # everywhere
# A worker runs one trial per thread and needs about 200 MB, but no disk shared with this machine.
# Anyone who reaches the scheduler can run programs there: keep it in a trusted network.
"""

_PLACES = {
    "local": """\
# On one machine (without --cluster, aqmlab uses all cores by itself)
dask scheduler --host 127.0.0.1 --port 8786 &
dask worker tcp://127.0.0.1:8786 --nworkers 4 --nthreads 1 &
aqmlab run SCENARIO --cluster tcp://127.0.0.1:8786
""",
    "ssh": """\
# Over SSH, with keys and the same path to Python on each machine (pip install asyncssh paramiko).
# The scheduler runs on the first; nworkers is the number of cores of each.
dask ssh --nworkers 8 --nthreads 1 --remote-python /opt/aqmlab/bin/python HOST1 HOST2 HOST3 &
aqmlab run SCENARIO --cluster tcp://HOST1:8786
""",
    "slurm": """\
# On Slurm: save these lines as aqmlab.sbatch in a folder that all nodes share, then run
# `sbatch aqmlab.sbatch`. If a job runs out of time, the same command continues it.
#!/bin/bash
#SBATCH --job-name=aqmlab --time=02:00:00
#SBATCH --ntasks=65 --cpus-per-task=1 --mem-per-cpu=1G
rm -f scheduler.json
srun --exact --ntasks=1 dask scheduler --scheduler-file scheduler.json &
until [ -s scheduler.json ]; do sleep 1; done
srun --exact --ntasks=63 dask worker --scheduler-file scheduler.json \\
  --nthreads 1 --memory-limit 1GB --no-dashboard --local-directory /tmp &
aqmlab run SCENARIO --cluster scheduler.json --out results/NAME
""",
    "kubernetes": """\
# On Kubernetes, with Dask's operator; IMAGE has aqmlab[dask] and its Python on the path.
helm install --repo https://helm.dask.org --create-namespace -n dask-operator \\
  --generate-name dask-kubernetes-operator
kubectl apply -f - <<'YAML'
apiVersion: kubernetes.dask.org/v1
kind: DaskCluster
metadata: { name: aqmlab }
spec:
  worker:
    replicas: 16
    spec:
      containers:
        - name: worker
          image: IMAGE
          args: [dask, worker, --name, $(DASK_WORKER_NAME), --nthreads, "1"]
          resources: { requests: { cpu: "1", memory: 1Gi }, limits: { memory: 1Gi } }
  scheduler:
    spec:
      containers:
        - name: scheduler
          image: IMAGE
          args: [dask, scheduler]
          ports:
            - { name: tcp-comm, containerPort: 8786 }
            - { name: http-dashboard, containerPort: 8787 }
    service:
      type: ClusterIP
      selector: { dask.org/cluster-name: aqmlab, dask.org/component: scheduler }
      ports:
        - { name: tcp-comm, port: 8786, targetPort: tcp-comm }
        - { name: http-dashboard, port: 8787, targetPort: http-dashboard }
YAML
kubectl port-forward service/aqmlab-scheduler 8786:8786 &
aqmlab run SCENARIO --cluster tcp://127.0.0.1:8786
kubectl delete daskcluster aqmlab
""",
}


def command(given: ClusterParameters) -> int:
    """Runs `aqmlab cluster`; returns the exit status."""
    if given.where is not None and given.where not in _PLACES:
        raise RequestError(f"unknown place `{given.where}`", suggestion(given.where, _PLACES))
    chosen = _PLACES if given.where is None else {given.where: _PLACES[given.where]}
    print("\n".join([_HEAD, *chosen.values()]).rstrip())
    return 0
