// A waveform on a canvas, from the peaks that the service computed.

import { colour } from "../page.js";

/**
 * Draw a clip over the whole width of a canvas.
 *
 * low, high  lowest and highest sample of each stretch, full scale 127
 * share      share of the width for one run of the clip; the clip is repeated, paler, up to the end
 * start      position in the clip at which the drawing starts, as a share of the clip
 */
export function drawWaveform(canvas, { low, high, share, start = 0, ink }) {
  const scale = devicePixelRatio || 1;
  const width = (canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale)));
  const height = (canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale)));
  const brush = canvas.getContext("2d");
  brush.clearRect(0, 0, width, height);
  if (!low.length) return;
  brush.fillStyle = colour(ink);
  const loudest = Math.max(1, ...high, ...low.map((value) => -value));
  const unit = (height / 2 - scale) / loudest;
  for (let x = 0; x < width; x++) {
    const along = x / width / share;
    const place = Math.min(low.length - 1, Math.floor(((along + start) % 1) * low.length));
    const top = height / 2 - high[place] * unit;
    brush.globalAlpha = along < 1 ? 1 : 0.4;
    brush.fillRect(x, top, 1, Math.max(scale, (high[place] - low[place]) * unit));
  }
}
