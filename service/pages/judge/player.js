// Clips in step: all run, one is audible; switching cross-fades within 10 ms at the same position.

import { wait } from "../api.js";

const FADE_S = 0.01;
const SOON_S = 0.005;
const SAME_S = 0.25; // clips that differ by less are cut to the shorter
const STARTING_MS = 5_000; // limit for an output to start; without one, some browsers neither start nor refuse
const LOUDNESS_DB = -20; // target loudness of clips, in LUFS: ITU-R BS.1770
export const SIDES = ["query", "candidate"];

/** Start a context after a click; resolves with true if this device plays sound. */
export function started(context) {
  return Promise.race([context.resume().then(() => true), wait(STARTING_MS).then(() => false)]);
}

/** Length of the loop in which all clips run, in seconds: a much shorter clip is repeated within it. */
export function loopLength(durations) {
  const [shortest, longest] = [Math.min(...durations), Math.max(...durations)];
  return longest - shortest < SAME_S ? shortest : longest;
}

/**
 * Gains that make clips equally loud, without clipping.
 *
 * clips  each with `loudness_db` (LUFS; null if silent) and `peak` (of full scale, 0 to 1)
 */
export function levelGains(clips) {
  if (clips.some((clip) => clip.loudness_db == null)) return clips.map(() => 1);
  const gains = clips.map((clip) => 10 ** ((LOUDNESS_DB - clip.loudness_db) / 20));
  const headroom = Math.min(1, ...clips.map((clip, place) => 1 / Math.max(clip.peak * gains[place], 1e-6)));
  return gains.map((gain) => gain * headroom);
}

export class Player extends EventTarget {
  /** count  number of clips, one of which is audible at a time */
  constructor(context = new AudioContext({ latencyHint: "interactive" }), count = SIDES.length) {
    super();
    this.context = context;
    this.output = context.createGain();
    this.output.connect(context.destination);
    this.levels = Array.from({ length: count }, () => new GainNode(context));
    for (const level of this.levels) level.connect(this.output);
    this.clips = null;
    this.voice = null;
    this.side = 0;
    this.matched = true;
    this.offset = 0;
    this.length = 0;
    this.heard = this.levels.map(() => 0);
    this.since = 0;
  }

  get playing() {
    return this.voice !== null;
  }

  /** Position in the loop shared by all clips, in seconds. */
  get position() {
    if (!this.length) return 0;
    if (!this.voice) return this.offset;
    return (this.offset + Math.max(0, this.context.currentTime - this.voice.startedAt)) % this.length;
  }

  /**
   * Use other clips, each `{buffer, loudness_db, peak}` or null, starting at `starts` seconds.
   *
   * some  true to play the available ones; false to play all or none
   */
  load(clips, { heard = clips.map(() => 0), starts = clips.map(() => 0), some = false } = {}) {
    this.pause();
    const found = clips.filter(Boolean);
    this.clips = clips;
    this.starts = starts;
    this.heard = [...heard];
    this.offset = 0;
    this.side = some ? Math.max(0, clips.findIndex(Boolean)) : 0;
    this.buffers = null;
    if (found.length === clips.length || (some && found.length)) {
      this.length = loopLength(found.map((clip) => clip.buffer.duration));
      this.buffers = clips.map((clip, place) => clip && this.#looped(clip.buffer, starts[place]));
    } else {
      this.length = 0;
    }
    this.match(this.matched);
    this.#tell();
  }

  /** Play from the current position. */
  play() {
    if (!this.buffers || this.voice) return;
    this.context.resume();
    const startedAt = this.context.currentTime + SOON_S;
    const fades = this.levels.map(() => new GainNode(this.context, { gain: 0 }));
    const sources = this.buffers.flatMap((buffer, side) => {
      if (!buffer) return [];
      const source = new AudioBufferSourceNode(this.context, { buffer, loop: true, loopEnd: this.length });
      source.connect(fades[side]).connect(this.levels[side]);
      source.start(startedAt, this.offset);
      return source;
    });
    fades[this.side].gain.setValueAtTime(0, startedAt).linearRampToValueAtTime(1, startedAt + FADE_S);
    this.voice = { sources, fades, startedAt };
    this.since = startedAt;
    this.#tell();
  }

  pause() {
    if (!this.voice) return;
    this.count();
    this.offset = this.position;
    this.#silence(this.voice);
    this.voice = null;
    this.#tell();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** Switch to another clip, at the same position. */
  listen(side) {
    this.count();
    if (this.voice && side !== this.side) {
      this.#fade(this.voice.fades[this.side].gain, 0);
      this.#fade(this.voice.fades[side].gain, 1);
    }
    this.side = side;
    this.#tell();
  }

  seek(seconds) {
    if (!this.length) return;
    const playing = this.playing;
    if (playing) this.pause();
    this.offset = ((seconds % this.length) + this.length) % this.length;
    if (playing) this.play();
    this.#tell();
  }

  /** Bring all clips to the same loudness, or leave their loudness unchanged. */
  match(matched) {
    this.matched = matched;
    const found = (this.clips ?? []).filter(Boolean);
    const gains = this.buffers && matched ? levelGains(found) : found.map(() => 1);
    this.levels.forEach((level, side) => this.#fade(level.gain, gains[found.indexOf(this.clips?.[side])] ?? 1));
    this.#tell();
  }

  /** Count the seconds for which each clip has been audible; time stands still while the output is suspended. */
  count() {
    if (this.voice) {
      const now = this.context.currentTime;
      if (this.clips[this.side]) this.heard[this.side] += Math.max(0, now - this.since);
      this.since = Math.max(now, this.since);
    }
    return this.heard;
  }

  /** A buffer as long as the loop, filled with the clip from `start` on, repeated if necessary. */
  #looped(buffer, start) {
    const count = Math.round(this.length * buffer.sampleRate);
    const first = Math.round(start * buffer.sampleRate) % buffer.length;
    if (first === 0 && buffer.length >= count) return buffer;
    const made = new AudioBuffer({ length: count, numberOfChannels: buffer.numberOfChannels, sampleRate: buffer.sampleRate });
    for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
      const samples = buffer.getChannelData(channel);
      for (let to = 0, from = first; to < count; from = 0) {
        const piece = samples.subarray(from, Math.min(samples.length, from + count - to));
        made.copyToChannel(piece, channel, to);
        to += piece.length;
      }
    }
    return made;
  }

  #fade(gain, target) {
    const now = this.context.currentTime;
    gain.cancelScheduledValues(now);
    gain.setValueAtTime(gain.value, now);
    gain.linearRampToValueAtTime(target, now + FADE_S);
  }

  #silence(voice) {
    const end = this.context.currentTime + FADE_S;
    for (const fade of voice.fades) this.#fade(fade.gain, 0);
    for (const source of voice.sources) source.stop(end + SOON_S);
  }

  #tell() {
    this.dispatchEvent(new Event("change"));
  }
}
