// The data block: packed series, and the columns of the runs. series_code.h and page.h describe it.
const DATA = JSON.parse(document.getElementById('data').textContent);
const CACHE = new Map();

// One number or null for each run of the series' testbed.
function decodeSeries(series) {
  const bytes = atob(series.v);
  const scale = 10 ** Math.abs(series.e);
  const values = [];
  let last = 0;
  let number = 0;
  let factor = 1;
  for (let i = 0; i < bytes.length; ++i) {
    const byte = bytes.charCodeAt(i);
    number += (byte & 127) * factor;
    factor *= 128;
    if (byte >= 128) continue;
    if (number === 0) {
      values.push(null);
    } else {
      const zigzag = number - 1;
      last += zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2;
      values.push(series.e < 0 ? last / scale : last * scale);
    }
    number = 0;
    factor = 1;
  }
  return values;
}

function valuesOf(index) {
  if (!CACHE.has(index)) CACHE.set(index, decodeSeries(DATA.series[index]));
  return CACHE.get(index);
}

// One run of a testbed as an object.
function runAt(testbed, position) {
  const columns = DATA.runs[testbed];
  const run = {id: columns.id[position], time: columns.time[position]};
  for (const name of ['commit', 'driver', 'cuda', 'clocks', 'note']) {
    run[name] = DATA.texts[columns[name][position]];
  }
  return run;
}

// The segment of a series in which the run at `position` lies.
function segmentAt(series, position) {
  let found = null;
  for (const segment of series.g) {
    if (segment[0] <= position) found = segment;
  }
  return found;
}

// `digits` significant ones.
function secondsText(seconds, digits = 4) {
  for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['µs', 1e-6], ['ns', 1e-9]]) {
    if (seconds >= size || unit === 'ns') return `${Number((seconds / size).toPrecision(digits))} ${unit}`;
  }
}

function changeText(share) {
  return `${share >= 0 ? '+' : '−'}${Math.abs(share * 100).toFixed(1)} %`;
}

function timeText(time) {
  return new Date(time * 1000).toISOString().slice(0, 16).replace('T', ' ');
}

// An element; text is always put in as text, never as markup.
function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
