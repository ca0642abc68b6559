// Buttons that play a recording, one at a time; it continues while the page is drawn again.

import { byId, element } from "../page.js";

const audio = new Audio();
audio.preload = "none";
let playing = "";

function show() {
  for (const button of document.querySelectorAll("button[data-sound]")) {
    if (!(button instanceof HTMLElement)) continue;
    const on = button.dataset.sound === playing;
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "■" : "▶";
  }
}

function end() {
  playing = "";
  show();
}

audio.addEventListener("ended", end);
audio.addEventListener("error", () => {
  if (!playing) return;
  byId("detail-trouble").textContent = "This recording cannot be played.";
  byId("detail-trouble").hidden = false;
  end();
});

/** Stop the recording. */
export function silence() {
  audio.pause();
  end();
}

function turn(address) {
  if (playing === address) {
    silence();
    return;
  }
  byId("detail-trouble").hidden = true;
  playing = address;
  audio.src = address;
  audio.play().catch(() => {}); // an error event reports it
  show();
}

/** The button for a recording at an address; nothing if there is none. */
export function playButton(address, name) {
  if (!address) return "";
  return element("button", { type: "button", class: "play", "data-sound": address, "aria-pressed": String(playing === address), "aria-label": `Play ${name}`, on: { click: () => turn(address) } }, playing === address ? "■" : "▶");
}
