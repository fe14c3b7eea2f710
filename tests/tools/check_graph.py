#!/usr/bin/env python3
"""Opens what `hlorun check --graph X.html` draws in a real browser and uses it as a reader would: the wheel scrolls,
the wheel with Control and the buttons zoom at the pointer, dragging moves, and nothing is fetched from anywhere.

Usage: check_graph.py BROWSER FILE.html; prints a line per finding and ends with 1 if one is wrong. The browser is driven
over its debugging pipe: file descriptors 3 and 4, messages of JSON that end in NUL."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, program, profile):
        to_read, self.to = os.pipe()
        self.come, from_write = os.pipe()

        def wire():
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--user-data-dir=" + profile, "--window-size=800,600", "about:blank"],
            preexec_fn=wire, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.number, self.rest, self.session, self.events = 0, b"", None, []

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.come, 65536)
            if not more:
                sys.exit("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.to, json.dumps(question).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, address):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Runtime.enable")
        self.call("Page.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=800, height=600, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def ask(self, expression):
        """The value of an expression, after what was done to the page has been drawn."""
        drawn = f"new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r({expression}))))"
        return self.call("Runtime.evaluate", expression=drawn, awaitPromise=True, returnByValue=True)["result"]["value"]

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(20)


def use(browser, path):
    found = []

    def check(name, right):
        found.append(right)
        print(("ok: " if right else "WRONG: ") + name)

    place = "[view.scrollLeft, view.scrollTop]"
    browser.open("file://" + os.path.abspath(path))
    check("it shows the lanes", browser.ask("document.querySelectorAll('.rank').length") >= 2)
    check("the cycle is red",
          browser.ask("getComputedStyle(document.querySelector('.waits')).stroke") == "rgb(204, 0, 0)")
    check("it starts at its own size", browser.ask("scale") == 1)
    browser.mouse("mouseWheel", 400, 300, deltaX=0, deltaY=-400, modifiers=2)
    grown = browser.ask("scale")
    check("Control and the wheel zoom in", 2 < grown < 3.5)
    check("the picture grows with it", abs(browser.ask("svg.width.baseVal.value / width") - grown) < 0.01)
    before = browser.ask(place)
    browser.mouse("mouseWheel", 400, 300, deltaX=0, deltaY=-25)
    time.sleep(0.4)  # it glides
    after = browser.ask(place)
    check("the wheel alone scrolls", after[1] < before[1] and browser.ask("scale") == grown)
    before = after
    browser.mouse("mousePressed", 400, 300, button="left", clickCount=1)
    browser.mouse("mouseMoved", 340, 320, button="left", buttons=1)
    browser.mouse("mouseReleased", 340, 320, button="left", clickCount=1)
    after = browser.ask(place)
    check("dragging moves it", after[0] == before[0] + 60 and abs(after[1] - (before[1] - 20)) <= 1)
    browser.mouse("mouseMoved", 300, 300)
    check("it lies still when let go", browser.ask(place) == after)
    for button, right in (("fit", "svg.width.baseVal.value <= view.clientWidth + 1"), ("one", "scale == 1"),
                          ("in", "scale == 1.25"), ("out", "scale == 1")):
        x, y = browser.ask(f"(r => [r.x + r.width / 2, r.y + r.height / 2])"
                           f"(document.getElementById('{button}').getBoundingClientRect())")
        browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        browser.mouse("mouseReleased", x, y, button="left", clickCount=1)
        check(f"the button {button!r} works", browser.ask(right))
    asked = [event["params"]["request"]["url"] for event in browser.events
             if event.get("method") == "Network.requestWillBeSent"]
    check("it fetches nothing", all(url.startswith("file:") for url in asked))
    check("no error is thrown", not any(event.get("method") == "Runtime.exceptionThrown" for event in browser.events))
    return all(found)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(sys.argv[1], profile)
        try:
            fine = use(browser, sys.argv[2])
            browser.close()
        finally:
            try:
                os.killpg(browser.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it is gone as it should be
    sys.exit(not fine)


if __name__ == "__main__":
    main()
