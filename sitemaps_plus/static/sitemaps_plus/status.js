"use strict";
// Shows the progress of builds, and reloads the page when one begins or ends. Without JavaScript, a page with a running
// build reloads itself.
(() => {
  const root = document.getElementById("sitemaps-live");
  if (!root || !root.dataset.progress) {
    return;
  }
  const pause = root.dataset.live === "yes" ? 2000 : 15000;

  let rounds = 0;

  function show(build) {
    const element = root.querySelector(`[data-build="${build.build}"]`);
    if (!element) {
      return;
    }
    element.querySelector("[data-text]").textContent = build.text;
    const bar = element.querySelector("[data-bar]");
    if (build.known) {
      bar.max = build.known;
      bar.value = build.done;
    }
  }

  function isTyping() {
    const field = document.activeElement;
    return field instanceof HTMLInputElement && field.value !== "";
  }

  async function update() {
    if (!document.hidden) {
      try {
        const response = await fetch(root.dataset.progress, { headers: { Accept: "application/json" } });
        // A user who was logged out is redirected to the login page.
        if (!response.ok || response.redirected) {
          return;
        }
        const known = await response.json();
        if (known.state !== root.dataset.state && !isTyping()) {
          location.reload();
          return;
        }
        known.builds.forEach(show);
        rounds += 1;
        // A requested build has not begun: the reloaded page says so when it takes too long.
        if (root.dataset.live === "yes" && known.builds.length === 0 && rounds % 10 === 0 && !isTyping()) {
          location.reload();
          return;
        }
      } catch {
        // The server cannot be reached; the next round tries again.
      }
    }
    setTimeout(update, pause);
  }

  setTimeout(update, pause);
})();
