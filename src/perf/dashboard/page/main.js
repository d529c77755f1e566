// Starts the rest, once the tables are there.

const THEMES = ['', 'light', 'dark'];

// Pages opened from disk may have no storage: then the choice lasts as long as the page.
function storedTheme(write) {
  try {
    if (write !== undefined) localStorage.setItem('draftmark-theme', write);
    return localStorage.getItem('draftmark-theme') || '';
  } catch {
    return '';
  }
}

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  document.getElementById('theme').textContent = `Theme: ${name || 'as the system'}`;
  if (trend.graph) draw();
}

function startTheme() {
  setTheme(THEMES.includes(storedTheme()) ? storedTheme() : '');
  document.getElementById('theme').addEventListener('click', () => {
    const name = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || '') + 1) % THEMES.length];
    storedTheme(name);
    setTheme(name);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => trend.graph && draw());
}

document.documentElement.classList.add('has-js');
startTheme();
startFilter();
startTrend();
startCompare();
// Paper cannot be clicked: everything but the list of runs is printed open.
addEventListener('beforeprint', () => {
  for (const details of document.querySelectorAll('main details:not(#runs-all, #runs-all details)')) details.open = true;
});
