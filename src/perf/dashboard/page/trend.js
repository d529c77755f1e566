// The trend of one case, by dygraphs, with its noise bands, change points and marks. Without dygraphs the points are read
// by keyboard and in the list alone.

const HALF_DAY = 43200000;  // milliseconds

const trend = {index: -1, rows: [], graph: null, selected: -1};

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// What is written beside vertical lines: releases, and where driver or CUDA changed.
function marksOf(testbed) {
  const columns = DATA.runs[testbed];
  const marks = DATA.releases.map(([time, label, commit]) => ({time, text: label, commit}));
  for (let i = 1; i < columns.time.length; ++i) {
    for (const [name, word] of [['driver', 'driver'], ['cuda', 'CUDA']]) {
      if (columns[name][i] === columns[name][i - 1]) continue;
      marks.push({time: columns.time[i], text: `${word} ${DATA.texts[columns[name][i]]}`, commit: ''});
    }
  }
  return marks.sort((one, other) => one.time - other.time);
}

// The time of a segment's last night, or of now's.
function endOf(series, index) {
  const times = DATA.runs[series.t].time;
  return times[index + 1 < series.g.length ? series.g[index + 1][0] : times.length - 1];
}

function drawVertical(context, area, x, text, dash, stroke, row) {
  if (x < area.x || x > area.x + area.w) return;
  context.setLineDash(dash);
  context.strokeStyle = stroke;
  context.beginPath();
  context.moveTo(x, area.y);
  context.lineTo(x, area.y + area.h);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = stroke;
  context.fillText(text, x + 3, area.y + 11 + 13 * row);
}

function drawUnderlay(context, area, graph) {
  const series = DATA.series[trend.index];
  const times = DATA.runs[series.t].time;
  context.save();
  context.beginPath();
  context.rect(area.x, area.y, area.w, area.h);
  context.clip();
  context.font = '11px system-ui, sans-serif';
  series.g.forEach(([first, level, low, high], i) => {
    // One night alone has no width.
    const half = endOf(series, i) === times[first] ? HALF_DAY : 0;
    const left = graph.toDomXCoord(times[first] * 1000 - half);
    const right = graph.toDomXCoord(endOf(series, i) * 1000 + half);
    const top = graph.toDomYCoord(high);
    context.fillStyle = colour('--band');
    context.fillRect(left, top, right - left, graph.toDomYCoord(low) - top);
    context.strokeStyle = colour('--chart');
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(left, graph.toDomYCoord(level));
    context.lineTo(right, graph.toDomYCoord(level));
    context.stroke();
    context.globalAlpha = 1;
    if (i === 0) return;
    const step = level / series.g[i - 1][1] - 1;
    drawVertical(context, area, left, changeText(step), [6, 4], colour('--mark'), 0);
  });
  marksOf(series.t).forEach((mark, i) => {
    drawVertical(context, area, graph.toDomXCoord(mark.time * 1000), mark.text, [2, 3], colour('--release'), 1 + i % 3);
  });
  context.restore();
}

function line(list, name, value) {
  if (!value) return;
  list.append(element('dt', name), element('dd', value));
}

// Everything that is known of one point.
function showPoint(row) {
  const place = document.getElementById('point');
  trend.selected = row;
  const series = DATA.series[trend.index];
  const [position, value] = trend.rows[row];
  const run = runAt(series.t, position);
  const segment = segmentAt(series, position);
  const list = element('dl');
  line(list, 'Night', `${timeText(run.time)} UTC`);
  line(list, 'Value', `${secondsText(value, 6)}, ${changeText(value / segment[1] - 1)} from its level` +
      (value > segment[3] ? ', ▲ above the noise band' : value < segment[2] ? ', ▼ below the noise band' : ''));
  line(list, 'Commit', run.commit);
  line(list, 'Driver', [run.driver, run.cuda && `CUDA ${run.cuda}`].filter(Boolean).join(', '));
  line(list, 'Clocks', run.clocks || 'unknown');
  line(list, 'Not valid', run.note);
  const again = DATA.texts[series.r].replaceAll('{case}', () => series.c);
  if (again) {
    const code = element('code', /^[0-9a-f]+$/i.test(run.commit) ? `git checkout ${run.commit} && ${again}` : again);
    const cell = element('dd');
    cell.append(code);
    list.append(element('dt', 'Reproduce'), cell);
  }
  place.replaceChildren(list);
}

function select(row) {
  const bounded = Math.min(Math.max(row, 0), trend.rows.length - 1);
  if (trend.graph) trend.graph.setSelection(bounded);
  showPoint(bounded);
}

function showMarks(series) {
  const marks = marksOf(series.t);
  series.g.forEach(([first, level], i) => {
    if (i === 0) return;
    const run = runAt(series.t, first);
    marks.push({time: run.time, text: `change point, ${changeText(level / series.g[i - 1][1] - 1)}`, commit: run.commit});
  });
  marks.sort((one, other) => one.time - other.time);
  const list = element('ul');
  for (const mark of marks) {
    list.append(element('li', `${timeText(mark.time).slice(0, 10)}: ${mark.text}${mark.commit ? `, commit ${mark.commit}` : ''}`));
  }
  document.getElementById('marks').replaceChildren(list);
}

function draw() {
  const place = document.getElementById('chart');
  if (trend.graph) trend.graph.destroy();
  trend.graph = null;
  if (typeof Dygraph === 'undefined') {
    place.textContent = 'This page was built without dygraphs: see the sparklines below.';
    place.style.height = 'auto';
    return;
  }
  const series = DATA.series[trend.index];
  const times = DATA.runs[series.t].time;
  let low = Infinity;
  let high = -Infinity;
  for (const [, value] of trend.rows) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  for (const segment of series.g) {
    low = Math.min(low, segment[2]);
    high = Math.max(high, segment[3]);
  }
  const margin = (high - low) * 0.08 || high * 0.01;
  const rows = trend.rows.map(([position, value]) => [new Date(times[position] * 1000), value]);
  trend.graph = new Dygraph(place, rows, {
    labels: ['Night', 'time'],
    labelsUTC: true,
    legend: 'never',
    colors: [colour('--chart')],
    drawPoints: true,
    pointSize: 2,
    strokeWidth: 1,
    highlightCircleSize: 5,
    gridLineColor: colour('--line'),
    axisLineColor: colour('--dim'),
    valueRange: [low - margin, high + margin],
    dateWindow: rows.length > 1 ? null : [rows[0][0].getTime() - 4 * HALF_DAY, rows[0][0].getTime() + 4 * HALF_DAY],
    axes: {y: {axisLabelFormatter: (value) => secondsText(value), axisLabelWidth: 74}},
    underlayCallback: drawUnderlay,
    highlightCallback: (event, x, points, row) => showPoint(row),
  });
}

// `index` of DATA.series.
function showTrend(index) {
  trend.index = index;
  const series = DATA.series[index];
  trend.rows = [];
  valuesOf(index).forEach((value, position) => {
    if (value !== null) trend.rows.push([position, value]);
  });
  document.getElementById('trend-name').textContent = `${series.c} on ${DATA.testbeds[series.t].name}`;
  for (const row of document.querySelectorAll('tr.chosen')) row.classList.remove('chosen');
  for (const link of document.querySelectorAll(`a.pick[data-s="${index}"]`)) {
    const row = link.closest('tr');
    if (row) row.classList.add('chosen');
  }
  draw();
  showMarks(series);
  select(trend.rows.length - 1);
}

function startTrend() {
  document.addEventListener('click', (event) => {
    const picked = event.target.closest('.pick');
    if (!picked) return;
    event.preventDefault();
    showTrend(Number(picked.dataset.s));
    document.getElementById('trend').scrollIntoView();
    document.getElementById('chart').focus({preventScroll: true});
  });
  document.getElementById('chart').addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
    const row = event.key === 'Home' ? 0 : event.key === 'End' ? trend.rows.length - 1 : step ? trend.selected + step : -1;
    if (step === undefined && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    select(row);
  });
  // Drawn once it is near the screen; the worst case first.
  const first = document.querySelector('#summary .pick, #verdicts .pick, #cases .pick');
  if (!first) {
    document.getElementById('trend').hidden = true;
    return;
  }
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    observer.disconnect();
    if (trend.index < 0) showTrend(Number(first.dataset.s));
  }, {rootMargin: '200px'}).observe(document.getElementById('trend'));
}
