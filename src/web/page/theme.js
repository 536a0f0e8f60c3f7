// Light or dark: as the address asks, else as the user chose last, else as the system.
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem('theme', theme);
  } catch {
    // The choice is not kept.
  }
}

export const toggleTheme = () => setTheme(isDark() ? 'light' : 'dark');

function keptTheme() {
  try {
    return localStorage.getItem('theme');
  } catch {
    return null;
  }
}

export function startTheme() {
  const asked = new URLSearchParams(location.search).get('theme');
  const theme = asked === 'dark' || asked === 'light' ? asked : keptTheme();
  if (theme) document.documentElement.dataset.theme = theme;
}
