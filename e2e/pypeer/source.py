"""Runs beside the daemon: sends datagrams into the tunnel on demand, answers them, and reads counters.

Commands are JSON in datagrams to port 9000; "blast" [address, port, count, size, microseconds between]."""
import json
import socket
import subprocess
import sys
import threading
import time

PORT = 9000


def blast(s, address, port, count, size, gap):
    due = time.time()
    for i in range(count):
        try:
            s.sendto(i.to_bytes(4, "big") + bytes(size - 4), (address, port))
        except OSError:
            pass
        due += gap / 1e6
        if due > time.time():
            time.sleep(due - time.time())


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
            threading.Thread(target=blast, args=(s, *order["blast"]), daemon=True).start()
            answer = {}
        elif "run" in order:
            p = subprocess.run(order["run"], capture_output=True, text=True)
            answer = {"out": p.stdout[-50000:], "err": p.stderr[-2000:]}
        s.sendto(json.dumps(answer).encode(), frm)


if __name__ == "__main__":
    sys.exit(main())
