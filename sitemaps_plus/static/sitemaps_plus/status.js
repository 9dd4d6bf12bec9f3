"use strict";
// Shows how far a build is, and loads the page anew when one begins or ends. Without it a page with a build that
// runs loads itself anew.
(() => {
  const root = document.getElementById("sitemaps-live");
  if (!root || !root.dataset.progress) {
    return;
  }
  const pause = root.dataset.live === "yes" ? 2000 : 15000;

  let rounds = 0;

  function show(build) {
    const place = root.querySelector(`[data-build="${build.build}"]`);
    if (!place) {
      return;
    }
    place.querySelector("[data-text]").textContent = build.text;
    const bar = place.querySelector("[data-bar]");
    if (build.known) {
      bar.max = build.known;
      bar.value = build.done;
    }
  }

  function isTyping() {
    const field = document.activeElement;
    return field instanceof HTMLInputElement && field.value !== "";
  }

  async function look() {
    if (!document.hidden) {
      try {
        const answer = await fetch(root.dataset.progress, { headers: { Accept: "application/json" } });
        // Who is logged out meanwhile gets the page for logging in.
        if (!answer.ok || answer.redirected) {
          return;
        }
        const known = await answer.json();
        if (known.state !== root.dataset.state && !isTyping()) {
          location.reload();
          return;
        }
        known.builds.forEach(show);
        rounds += 1;
        // A build that was asked for and does not begin: the page knows when that is too long.
        if (root.dataset.live === "yes" && known.builds.length === 0 && rounds % 10 === 0 && !isTyping()) {
          location.reload();
          return;
        }
      } catch {
        // The server is away for a moment; it is asked again.
      }
    }
    setTimeout(look, pause);
  }

  setTimeout(look, pause);
})();
