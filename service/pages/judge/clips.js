// Clips: fetched ahead of time, as fast as the network allows, and decoded shortly before they are played.

import { ask, get } from "../api.js";

const FULL_SCALE = 127;
const DECODED = 6;
const FETCHED = 16;

export class Clips {
  /** context  audio context that decodes */
  constructor(context) {
    this.context = context;
    this.fetched = new Map();
    this.decoded = new Map();
  }

  /** The two clips of a pair, ready to play: null for one that cannot be played; an error if retrying may help. */
  of(pair) {
    return this.all(addresses(pair));
  }

  /** The clips at some addresses, in the same form. */
  all(addresses) {
    return Promise.all(addresses.map((address) => (address.sound ? this.#decode(address).catch(orNone) : null)));
  }

  /** Fetch the clips of pairs, one after the other, and decode the first pair's. */
  async ahead(pairs) {
    try {
      if (pairs.length) await this.of(pairs[0]);
      for (const pair of pairs.slice(1)) {
        for (const address of addresses(pair)) if (address.sound) await this.#fetch(address);
      }
    } catch {
      // the next use of the clip tries again, and reports the error
    }
  }

  #decode(address) {
    return remembered(this.decoded, address.sound, DECODED, async () => {
      const [bytes, drawn] = await this.#fetch(address);
      const buffer = await this.context.decodeAudioData(bytes.slice(0));
      const peak = Math.max(...drawn.high, ...drawn.low.map((low) => -low)) / FULL_SCALE;
      return { buffer, peak, loudness_db: drawn.loudness_db, low: drawn.low, high: drawn.high };
    });
  }

  #fetch({ sound, peaks }) {
    return remembered(this.fetched, sound, FETCHED, () => Promise.all([ask(sound, { accept: "bytes" }), get(peaks)]));
  }
}

function orNone(error) {
  if (error.passing || error.status === 401) throw error;
  return null;
}

function addresses(pair) {
  return [
    { sound: pair.query_sound, peaks: pair.query_peaks },
    { sound: pair.document_sound, peaks: pair.document_peaks },
  ];
}

/** True if at least one side of a pair has sound. */
export function hasSound(pair) {
  return addresses(pair).some(({ sound }) => sound);
}

/** Value of a cache, made if missing; failures are not kept, and only the latest values are. */
function remembered(map, name, most, make) {
  const known = map.get(name) ?? make();
  map.delete(name);
  map.set(name, known);
  known.catch(() => map.get(name) === known && map.delete(name));
  while (map.size > most) map.delete(map.keys().next().value);
  return known;
}
