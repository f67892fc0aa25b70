// Runs before the first paint, so that a chosen theme does not flash in the other one.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme is used.
}
