"""Training that ends before its last epoch. Usage: train.py HOW"""
import ctypes
import os
import random
import signal
import sys
import threading
import time


def end(how):
    sys.stdout.flush()
    if how == "sys-exit":
        sys.exit(3)
    if how == "sys-exit-in-thread":
        worker = threading.Thread(target=sys.exit, args=(4,))
        worker.start()
        worker.join()
    if how == "raise-in-thread":
        worker = threading.Thread(target=lambda: 1 // 0)
        worker.start()
        worker.join()
    if how == "os-exit":
        os._exit(5)
    if how == "os-exit-in-thread":
        threading.Thread(target=os._exit, args=(6,)).start()
        time.sleep(60)
    if how == "abort":
        os.abort()
    if how == "segfault":
        ctypes.string_at(0)
    if how == "sigterm":
        os.kill(os.getpid(), signal.SIGTERM)
    if how == "sigint":
        os.kill(os.getpid(), signal.SIGINT)
    if how == "sigint-twice":
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    if how == "sighup":
        os.kill(os.getpid(), signal.SIGHUP)
    if how == "exec":
        os.execv(sys.executable, [sys.executable, "-c", "print('another program')"])
    if how == "raise":
        raise RuntimeError("out of luck")
    if how == "recursion":
        (lambda deeper: deeper(deeper))(lambda deeper: deeper(deeper))
    if how == "memory":
        bytearray(1 << 60)
    if how == "stdout-closed":
        sys.stdout.close()
    if how == "descriptors-closed":
        os.closerange(3, 64)
    if how == "fork-and-exit":
        if os.fork() == 0:
            sys.exit(0)
        os.wait()
    if how == "fork-and-go-on":
        if os.fork():
            os._exit(7)


random.seed(7)
values = [random.random() for _ in range(300)]
mean = 0.0
for epoch in range(8):
    values.append(values.pop(epoch))
    for value in values * 5:
        mean += 0.01 * (value - mean)
    print(f"epoch {epoch} mean {mean:.12f}")
    if epoch == 5:
        end(sys.argv[1])
print(f"end {mean:.12f}")
