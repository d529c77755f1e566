// Search and filters: hides the rows of all tables of the class `filtered`, and configurations of scratch memory, that do
// not fit.

const TEXTS = new WeakMap();

function textOf(row) {
  if (!TEXTS.has(row)) TEXTS.set(row, row.textContent.toLowerCase());
  return TEXTS.get(row);
}

function fits(row, wanted) {
  const {a, v, k} = row.dataset;
  if (wanted.arch && a !== undefined && a !== wanted.arch) return false;
  if (wanted.verdict && v !== undefined && v !== wanted.verdict) return false;
  if (wanted.stepped && v !== undefined && k === undefined && row.closest('#cases')) return false;
  const text = wanted.words.length ? textOf(row) : '';
  return wanted.words.every((word) => text.includes(word));
}

function applyFilter() {
  const wanted = {
    arch: document.getElementById('arch').value,
    verdict: document.getElementById('verdict').value,
    stepped: document.getElementById('stepped').checked,
    words: document.getElementById('search').value.toLowerCase().split(/\s+/).filter(Boolean),
  };
  let cases = 0;
  for (const row of document.querySelectorAll('table.filtered > tbody > tr, .config')) {
    row.hidden = !fits(row, wanted);
    if (!row.hidden && row.closest('#cases')) ++cases;
  }
  const active = wanted.arch || wanted.verdict || wanted.stepped || wanted.words.length;
  document.getElementById('matches').textContent = active ? `${cases} trends fit` : '';
}

function startFilter() {
  let timer = 0;
  document.getElementById('search').addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(applyFilter, 80);
  });
  for (const id of ['arch', 'verdict', 'stepped']) {
    document.getElementById(id).addEventListener('change', applyFilter);
  }
  document.getElementById('filter').addEventListener('submit', (event) => event.preventDefault());
  document.getElementById('clear').addEventListener('click', () => {
    document.getElementById('filter').reset();
    applyFilter();
  });
  document.addEventListener('keydown', (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !typing) {
      event.preventDefault();
      document.getElementById('search').focus();
    }
  });
  applyFilter();  // a browser keeps what was typed before a reload
}
