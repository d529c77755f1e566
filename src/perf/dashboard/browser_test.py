"""browser_test.py CHECK FOLDER: opens a page that browser_test.cc wrote in Chromium and looks at it.

CHECK is find (is there a browser?) or the name of a check below. Ends with 0, 1 and what was wrong, or 77 and the
reason where Playwright or Chromium is not installed. Screenshots go to TEST_UNDECLARED_OUTPUTS_DIR where Bazel gives one.
"""

import contextlib
import os
import pathlib
import shutil
import sys

NO_BROWSER = 77
BROWSER = shutil.which("chromium", path="/usr/bin")

if BROWSER is None:
    print("no chromium: tools/setup --browser installs it")
    sys.exit(NO_BROWSER)
try:
    from playwright.sync_api import sync_playwright
except ImportError as error:
    print(f"no playwright ({error}): tools/setup --browser installs it")
    sys.exit(NO_BROWSER)

import browser_checks  # beside this file


class Opened:
    """A page and everything that it must not do."""

    def __init__(self, context, path):
        self.page = context.new_page()
        self.path = path
        self.problems = []
        self.page.on("console", lambda message: self.problems.append(f"console {message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self.on_request)
        self.page.goto(path.as_uri())

    def on_request(self, request):
        if request.url.split("#")[0] != self.path.as_uri():
            self.problems.append(f"request: {request.url[:200]}")


class Machine:
    def __init__(self, browser, folder):
        self.browser = browser
        self.folder = folder

    @contextlib.contextmanager
    def open(self, name, **options):
        """The page of a file; after the block it must have been quiet."""
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        context = self.browser.new_context(**options)
        # Even without the page's own policy nothing could be reached.
        context.set_offline(True)
        context.set_default_timeout(20000)
        opened = Opened(context, self.folder / name)
        yield opened.page
        opened.page.wait_for_timeout(50)
        context.close()
        if opened.problems:
            raise AssertionError(f"{name}: " + "; ".join(opened.problems))

    def screenshot(self, page, name):
        out = os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR")
        if out:
            page.screenshot(path=str(pathlib.Path(out) / f"{name}.png"), full_page=True)


def main(check, folder):
    if check == "find":
        return
    home = folder / "home"
    home.mkdir(exist_ok=True)
    os.environ["HOME"] = str(home)
    with sync_playwright() as playwright:
        # Chromium does not start as root with its sandbox; pages of this test are our own.
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        getattr(browser_checks, f"check_{check}")(Machine(browser, folder))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]).resolve())
