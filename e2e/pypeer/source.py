"""Runs beside the daemon: sends datagrams into the tunnel on demand, answers them, and reads counters.

Commands are JSON in datagrams to port 9000; "blast" [address, port, count, size, microseconds between],
"blasts" what became of each blast."""
import json
import socket
import subprocess
import sys
import threading
import time

PORT = 9000

BLASTS = []  # what became of each blast, in the order of their beginnings


def blast(s, said, address, port, count, size, gap):
    due = time.monotonic()
    for i in range(count):
        try:
            s.sendto(i.to_bytes(4, "big") + bytes(size - 4), (address, port))
            said["sent"] += 1
        except OSError as e:
            said["refused"] += 1
            said["refusal"] = str(e)
        due += gap / 1e6
        wait = due - time.monotonic()  # one look at the clock: it may pass due before a second one
        if wait > 0:
            time.sleep(wait)


def begin_blast(s, address, port, count, size, gap):
    """Sends a blast in a thread. If the thread ends early, the figures say why."""
    said = {"port": port, "count": count, "sent": 0, "refused": 0, "failed": ""}
    BLASTS.append(said)

    def run():
        try:
            blast(s, said, address, port, count, size, gap)
        except Exception as e:
            said["failed"] = repr(e)

    threading.Thread(target=run, daemon=True).start()


def main():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("0.0.0.0", PORT))
    print("ready", flush=True)
    while True:
        data, frm = s.recvfrom(65535)
        if data[:1] != b"{":
            s.sendto(data, frm)  # an echo
            continue
        order = json.loads(data)
        if "blast" in order:
            begin_blast(s, *order["blast"])
            answer = {}
        elif "blasts" in order:
            answer = BLASTS
        elif "run" in order:
            p = subprocess.run(order["run"], capture_output=True, text=True)
            answer = {"out": p.stdout[-50000:], "err": p.stderr[-2000:]}
        s.sendto(json.dumps(answer).encode(), frm)


if __name__ == "__main__":
    sys.exit(main())
