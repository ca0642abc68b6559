// An assessor's speed, and the time for a break.

const IDLE_S = 300; // a longer pause between two answers does not count as work

export class Pace {
  /**
   * every  minutes of work between two breaks
   * after  answers between two breaks; null: any number
   */
  constructor(every, after = null) {
    this.everyS = every * 60;
    this.after = after ?? Infinity;
    this.since = 0; // answers since the last break
    this.gaps = [];
    this.workedS = 0;
    this.last = null;
  }

  /** Work begins, or continues after a pause. */
  begin() {
    this.last = performance.now();
  }

  /** Some pairs were answered at once. */
  note(count = 1) {
    const now = performance.now();
    const gap = (now - (this.last ?? now)) / 1000;
    this.last = now;
    this.since += count;
    if (gap > IDLE_S) return;
    this.gaps.push(...Array(count).fill(gap / count));
    this.workedS += gap;
  }

  /** Median seconds between two answers; null before the third. */
  get medianS() {
    if (this.gaps.length < 3) return null;
    const sorted = this.gaps.toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)];
  }

  get breakDue() {
    return this.workedS >= this.everyS || this.since >= this.after;
  }

  /** A break was taken. */
  rest() {
    this.workedS = this.since = 0;
    this.begin();
  }
}
