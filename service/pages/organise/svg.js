// Elements of SVG; attributes only, because the page's policy forbids inline styles.

/** A new element: attributes by name, then children; strings become text. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const line = (from, to, attributes) => svg("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], ...attributes });

export const dot = (at, radius, attributes) => svg("circle", { cx: at[0], cy: at[1], r: radius, ...attributes });

export const text = (at, said, attributes) => svg("text", { x: at[0], y: at[1], ...attributes }, said);
