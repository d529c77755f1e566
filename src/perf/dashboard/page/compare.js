// Two runs side by side. One run each is no evidence (spec/statistics.md), so nothing here is called slower: what lies
// outside of the noise of the old run's nights is only marked.

function hasSeries(testbed) {
  return DATA.series.some((series) => series.t === testbed);
}

function runOptions() {
  return DATA.testbeds.filter((testbed, t) => hasSeries(t)).map((testbed) => {
    const t = DATA.testbeds.indexOf(testbed);
    const group = element('optgroup');
    group.label = testbed.name;
    const times = DATA.runs[t].time;
    for (let i = times.length - 1; i >= 0; --i) {
      const run = runAt(t, i);
      const option = element('option', `${timeText(run.time)}  ${run.commit.slice(0, 12)}`);
      option.value = `${t}/${i}`;
      group.append(option);
    }
    return group;
  });
}

function compareRows(old, next) {
  const cases = new Map();
  DATA.series.forEach((series, index) => {
    if (series.t === next[0]) cases.set(series.c, index);
  });
  const rows = [];
  DATA.series.forEach((series, index) => {
    if (series.t !== old[0] || !cases.has(series.c)) return;
    const base = valuesOf(index)[old[1]];
    const value = valuesOf(cases.get(series.c))[next[1]];
    if (base == null || value == null) return;
    const segment = segmentAt(series, old[1]);
    rows.push({name: series.c, index: cases.get(series.c), base, value, ratio: value / base, noise: segment[3] / segment[1] - 1});
  });
  return rows.sort((one, other) => other.ratio - one.ratio);
}

// 1 above the noise of the old run's nights, -1 below it, 0 within.
function beyondNoise(row) {
  const change = row.ratio - 1;
  return change > row.noise ? 1 : change < -row.noise ? -1 : 0;
}

function compareRow(row) {
  const line = element('tr');
  const link = element('a', row.name, 'pick');
  link.href = '#trend';
  link.dataset.s = row.index;
  const name = element('td');
  name.append(link);
  const sign = {1: ['▲ above the noise', 'v-slower'], '-1': ['▼ below the noise', 'v-faster'], 0: ['= within', 'v-same']}[beyondNoise(row)];
  const mark = element('td');
  mark.append(element('b', sign[0], sign[1]));
  line.append(name, element('td', secondsText(row.base), 'n'), element('td', secondsText(row.value), 'n'),
      element('td', changeText(row.ratio - 1), 'n'), element('td', `± ${(row.noise * 100).toFixed(1)} %`, 'n'), mark);
  return line;
}

function compare() {
  const [old, next] = ['old', 'new'].map((id) => document.getElementById(id).value.split('/').map(Number));
  const rows = compareRows(old, next);
  const above = rows.filter((row) => beyondNoise(row) > 0).length;
  const below = rows.filter((row) => beyondNoise(row) < 0).length;
  const answer = document.getElementById('compare-answer');
  const ids = [runAt(...old).id, runAt(...next).id];
  answer.textContent = rows.length === 0 ? 'The two runs have no case in common.' :
      `${rows.length} cases: ▲ ${above} above the noise, ▼ ${below} below it. ` +
      (old[0] === next[0] ? '' : 'Different machines: the noise is that of the old one. ') + 'A verdict needs more runs than one each.';
  // Nights whose runs retention has dropped have no ids left.
  if (rows.length && ids.every(Boolean)) {
    answer.append(' Their last runs: ', element('code', ids[0]), ' and ', element('code', ids[1]), ' (draftmark history show ID).');
  }
  const table = document.getElementById('compare-table');
  table.tBodies[0].replaceChildren(...rows.map(compareRow));
  table.hidden = rows.length === 0;
  applyFilter();
}

function startCompare() {
  const old = document.getElementById('old');
  const next = document.getElementById('new');
  old.append(...runOptions());
  next.append(...runOptions());
  // The two newest nights of the testbed that comes first.
  const testbed = DATA.runs.findIndex((columns, t) => columns.time.length > 1 && hasSeries(t));
  if (testbed < 0) {
    document.getElementById('compare').hidden = true;
    return;
  }
  const count = DATA.runs[testbed].time.length;
  old.value = `${testbed}/${count - 2}`;
  next.value = `${testbed}/${count - 1}`;
  old.addEventListener('change', compare);
  next.addEventListener('change', compare);
  document.getElementById('swap').addEventListener('click', () => {
    [old.value, next.value] = [next.value, old.value];
    compare();
  });
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    compare();
  }, {rootMargin: '200px'}).observe(document.getElementById('compare'));
}
