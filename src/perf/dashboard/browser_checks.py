"""What browser_test.py looks at, page by page."""

import re

CASE = "op/rms_norm/rows=16,h=4096/bf16"


def equal(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: expected {expected!r}, found {found!r}")


def has(text, part, what):
    if part not in text:
        raise AssertionError(f"{what}: expected {part!r} in {text!r}")


def wait_for(page, condition, what):
    """Polls: the page's own policy forbids the evaluation that Playwright's wait_for_function needs."""
    for _ in range(400):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{what}: not in 20 s")


def visible_cases(page):
    return page.locator("#cases tbody tr:visible").count()


def choose_case(page, case, testbed=0):
    page.locator("#cases a.pick", has_text=case).nth(testbed).click()
    page.locator("#chart canvas").first.wait_for()


def point(page):
    """The list of facts of the chosen point, by name."""
    names = page.locator("#point dt").all_inner_texts()
    return dict(zip(names, page.locator("#point dd").all_inner_texts()))


def check_filter(page):
    equal(visible_cases(page), 4, "cases without a filter")
    page.fill("#search", "LINEAR 4096")
    wait_for(page, lambda: page.inner_text("#matches") == "1 trends fit", "1 trends")
    equal(visible_cases(page), 1, "cases with both words")
    equal(page.locator("#verdicts tbody tr:visible").count(), 1, "verdicts with both words")
    page.fill("#search", "no such case")
    wait_for(page, lambda: page.inner_text("#matches") == "0 trends fit", "0 trends")
    page.click("#clear")
    equal(visible_cases(page), 4, "cases after Clear")
    page.select_option("#arch", "sm_120")
    equal(visible_cases(page), 1, "cases of one architecture")
    page.select_option("#arch", "")
    page.select_option("#verdict", "slower")
    equal(visible_cases(page), 1, "cases that are slower")
    page.select_option("#verdict", "")
    page.check("#stepped")
    equal(visible_cases(page), 2, "cases with a change point")
    page.click("#clear")


def check_trend(page):
    choose_case(page, CASE)
    facts = point(page)
    equal(facts["Night"], "2026-10-08 02:00 UTC", "the newest night is chosen")
    # sample_dashboard.cc's 2.47009843e-06, behind 38 differences.
    has(facts["Value"], "2.4701 µs", "value")
    equal(facts["Driver"], "590.12, CUDA 13.0", "driver")
    equal(facts["Clocks"], "SM 1980 MHz", "clocks")
    has(facts["Reproduce"], f"git checkout {facts['Commit']} && bazel run", "reproduction line")
    has(facts["Reproduce"], f"--case={CASE}", "reproduction line")
    marks = page.locator("#marks").inner_text()
    has(marks, "2026-09-24: change point, +3.0 %", "marks")
    has(marks, "v1.0", "marks")
    has(marks, "driver 590.12", "marks")
    # By keyboard.
    page.focus("#chart")
    page.keyboard.press("Home")
    equal(point(page)["Night"], "2026-08-30 02:00 UTC", "Home")
    has(point(page)["Value"], "2.40369 µs", "first value")
    page.keyboard.press("ArrowRight")
    equal(point(page)["Night"], "2026-08-31 02:00 UTC", "right arrow")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    equal(point(page)["Night"], "2026-10-08 02:00 UTC", "nothing behind the end")
    # By pointer: the first night is at the left end of the axis.
    box = page.locator("#chart").bounding_box()
    page.mouse.move(box["x"] + 90, box["y"] + 150)
    page.mouse.move(box["x"] + 84, box["y"] + 150)
    wait_for(page, lambda: "2026-08-30" in page.inner_text("#point"), "the first night, pointed at")
    # Something is drawn: pixels of the band, of the line and of the text of the axis.
    colours = page.evaluate("""() => {
      const colours = new Set();
      for (const canvas of document.querySelectorAll('#chart canvas')) {
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) colours.add(data.slice(i, i + 3).join());
      }
      return colours.size;
    }""")
    if colours < 5:
        raise AssertionError(f"the chart has {colours} colours")
    # The same case on the other testbed has no nights before the 20th.
    choose_case(page, CASE, testbed=1)
    has(page.locator("#trend-name").inner_text(), "sm_120", "name of the trend")
    page.focus("#chart")
    page.keyboard.press("Home")
    equal(point(page)["Night"], "2026-09-19 02:10 UTC", "first night of the second testbed")


def check_compare(page):
    page.locator("#compare").scroll_into_view_if_needed()
    page.locator("#compare-table tbody tr").first.wait_for()
    page.select_option("#old", "0/10")
    page.select_option("#new", "0/39")
    rows = page.locator("#compare-table tbody tr").all_inner_texts()
    equal(len(rows), 3, "compared cases")
    has(rows[0], CASE, "the largest change is first")
    has(rows[0], "▲ above the noise", "a step of 3 %")
    has(rows[1], "= within", "no step")
    has(rows[2], "▼ below the noise", "a step of -5 %")
    has(page.locator("#compare-answer").inner_text(), "3 cases: ▲ 1 above the noise, ▼ 1 below it.", "answer")
    change = float(re.search(r"([+−][\d.]+) %", rows[0])[1].replace("−", "-"))
    if not 2.4 < change < 3.6:
        raise AssertionError(f"change of {change} %")
    page.select_option("#new", "0/38")
    has(page.locator("#compare-answer").inner_text(), "▲ 2 above", "one slow night of +2 %, where noise is 1.2 %")
    page.select_option("#new", "0/39")
    page.click("#swap")
    has(page.locator("#compare-table tbody tr").last.inner_text(), CASE, "swapped")
    page.select_option("#new", "0/33")
    has(page.locator("#compare-answer").inner_text(), "no case in common", "a night without a point")


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def check_contrast(page, theme):
    """WCAG's 4.5 between each text and what is painted behind it."""
    pairs = page.evaluate("""() => {
      const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const colour = getComputedStyle(at).backgroundColor;
          if (!/, 0\\)$/.test(colour)) return colour;
        }
        return 'rgb(255, 255, 255)';
      };
      const seen = {};
      const names = 'body, .note, a, small, td, th, b.v-slower, b.v-faster, b.v-invalid, b.v-same, b.v-unclear, .answer, summary, button, .demo';
      for (const element of document.querySelectorAll(names)) {
        seen[getComputedStyle(element).color + ' on ' + behind(element)] =
            [element.className || element.tagName, getComputedStyle(element).color, behind(element)];
      }
      return Object.values(seen);
    }""")
    if len(pairs) < 6:
        raise AssertionError(f"{theme}: only {len(pairs)} pairs of colours")
    for name, text, back in pairs:
        one, other = sorted([luminance(text), luminance(back)])
        contrast = (other + 0.05) / (one + 0.05)
        if contrast < 4.5:
            raise AssertionError(f"{theme}: {name}: {text} on {back} has a contrast of {contrast:.2f}")


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def check_themes(machine, name):
    found = []
    for scheme in ["light", "dark"]:
        with machine.open(name, color_scheme=scheme) as page:
            check_contrast(page, scheme)
            found.append(background(page))
            machine.screenshot(page, f"{name}-{scheme}")
    equal(found, ["rgb(255, 255, 255)", "rgb(20, 23, 26)"], "backgrounds of both themes")
    with machine.open(name, color_scheme="light") as page:
        page.click("#theme")
        equal(background(page), found[0], "light, chosen")
        page.click("#theme")
        equal(background(page), found[1], "dark, chosen")
        check_contrast(page, "dark, chosen")
        page.click("#theme")
        equal(background(page), found[0], "as the system again")


def check_without_script(machine, name):
    with machine.open(name, java_script_enabled=False) as page:
        equal(page.locator("#filter").is_visible(), False, "controls without JavaScript")
        equal(page.locator("#cases svg.sp").count(), 4, "sparklines")
        equal(page.locator("#cases svg.sp").first.is_visible(), True, "sparklines are seen")
        has(page.locator("#summary").inner_text(), "Worse: 1 slower", "answer")
        has(page.locator("#verdicts").inner_text(), "slower", "verdicts")
        has(page.locator("#counts").inner_text(), "q_buf +1", "counts")
        has(page.locator("#conformance").inner_text(), "never run", "matrix")
        page.locator("#runs summary").first.click()
        has(page.locator("#runs tbody tr").first.inner_text(), "590.12", "runs")


def check_print(machine, name):
    with machine.open(name, color_scheme="dark") as page:
        page.click("#theme")
        page.click("#theme")  # dark, chosen
        page.emulate_media(media="print")
        equal(background(page), "rgb(255, 255, 255)", "paper under a dark theme")
        equal(page.evaluate("getComputedStyle(document.body).color"), "rgb(0, 0, 0)", "ink")
        equal(page.locator("#filter").is_visible(), False, "controls on paper")
        equal(page.locator("#summary").is_visible(), True, "answer on paper")
        equal(page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight"), "none", "tables are whole")
        if len(page.pdf()) < 10000:
            raise AssertionError("an empty PDF")


def check_keyboard(machine, name):
    with machine.open(name) as page:
        page.keyboard.press("Tab")
        equal(page.evaluate("document.activeElement.className"), "skip", "the first stop")
        page.keyboard.press("/")
        equal(page.evaluate("document.activeElement.id"), "search", "/ goes to the search")
        page.locator("#cases a.pick").nth(1).focus()
        page.keyboard.press("Enter")
        page.locator("#chart canvas").first.wait_for()
        has(page.locator("#trend-name").inner_text(), "op/linear", "Enter on a case")
        equal(page.evaluate("document.activeElement.id"), "chart", "the chart has the keys")


def check_sample(machine):
    with machine.open("sample.html") as page:
        check_filter(page)
        check_trend(page)
        check_compare(page)
    check_themes(machine, "sample.html")
    check_without_script(machine, "sample.html")
    check_print(machine, "sample.html")
    check_keyboard(machine, "sample.html")


def check_hostile(machine):
    counts = []
    for name in ["sample.html", "hostile.html"]:
        with machine.open(name) as page:
            page.locator("#cases a.pick").first.click()
            page.locator("#chart canvas").first.wait_for()
            page.focus("#chart")
            page.keyboard.press("ArrowLeft")
            page.locator("#compare").scroll_into_view_if_needed()
            page.locator("#compare-table tbody tr").first.wait_for()
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            counts.append(page.evaluate("""() => {
              const count = {};
              for (const one of document.querySelectorAll('*')) count[one.tagName] = (count[one.tagName] || 0) + 1;
              return count;
            }"""))
            if name == "hostile.html":
                has(page.locator("#trend-name").inner_text(), "</script><script>alert(1)</script>", "name, as text")
                has(page.locator("#point").inner_text(), "</script><script>alert(1)</script>", "point, as text")
                has(page.locator("#compare-table").inner_text(), "\\u{202e}ä漢", "compared, as text")
                # Each architecture's option chooses its own cases.
                found = []
                for index in [1, 2]:
                    page.select_option("#arch", index=index)
                    found.append(visible_cases(page))
                equal(sorted(found), [1, 3], "cases of hostile architectures")
                machine.screenshot(page, "hostile")
    for name in ["IMG", "SCRIPT", "TR", "A", "TITLE", "OPTION", "STYLE", "IFRAME"]:
        equal(counts[1].get(name), counts[0].get(name), f"elements {name}")


def check_demo(machine):
    check_themes(machine, "demo.html")
    with machine.open("demo.html") as page:
        has(page.locator("#summary").inner_text(), "Worse: 2 slower", "answer")
        page.locator("#summary a.pick").first.click()
        page.locator("#chart canvas").first.wait_for()
        page.locator("#compare").scroll_into_view_if_needed()
        page.locator("#compare-table tbody tr").first.wait_for()
        equal(page.locator("#compare-table tbody tr").count(), 40, "compared cases")
        page.evaluate("scrollTo(0, 0)")
        machine.screenshot(page, "demo")
    with machine.open("demo.html", viewport={"width": 390, "height": 800}) as page:
        # A telephone: tables scroll by themselves, the page does not.
        equal(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), True, "no wider than the screen")
        machine.screenshot(page, "demo-narrow")


def check_large(machine):
    with machine.open("large.html") as page:
        paints = lambda: page.evaluate("performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)")
        wait_for(page, paints, "the first paint")
        paint = paints()[0]
        print(f"first paint of 500 cases x 400 nights after {paint:.0f} ms")
        equal(visible_cases(page), 500, "cases")
        page.fill("#search", "operation_7/")
        wait_for(page, lambda: page.inner_text("#matches") == "25 trends fit", "25 trends")
        page.locator("#cases a.pick:visible").first.click()
        page.locator("#chart canvas").first.wait_for()


def check_empty(machine):
    with machine.open("empty.html") as page:
        has(page.locator("#summary").inner_text(), "The history is empty", "answer")
        equal(page.locator("#chart").is_visible(), False, "no chart of nothing")
