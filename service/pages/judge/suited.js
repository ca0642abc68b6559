// People wanted by the task: by the languages of their browser, and by their device.

import { language, m, t } from "../language.js";

const PHONE_PX = 600; // shorter side of the screen; a smaller handheld device is a phone
const DEVICES = { computer: m("computer"), tablet: m("tablet"), phone: m("phone") };

/**
 * Reason why the task does not allow this browser's languages or this device; empty if it does.
 *
 * `languages` and `devices` are words of the task, separated by spaces; empty: all are allowed.
 *
 * @param {DOMStringMap} wanted
 */
export function unsuited({ languages = "", devices = "" }) {
  const wanted = { languages: words(languages), devices: words(devices) };
  const device = thisDevice();
  if (wanted.devices.length && !wanted.devices.includes(device)) {
    return t("This listening test can only be taken on these devices: {needed} (yours: {found}).", { needed: listed(wanted.devices.map(ofDevice), "disjunction"), found: ofDevice(device) });
  }
  if (wanted.languages.length && !wanted.languages.some(spoken)) {
    return t("This listening test is only for people with one of these languages in the settings of their browser: {needed} (yours: {found}).", { needed: listed(wanted.languages.map(ofLanguage), "disjunction"), found: listed(navigator.languages.map(ofLanguage), "conjunction") });
  }
  return "";
}

const words = (text) => text.split(" ").filter(Boolean);
const ofDevice = (device) => t(DEVICES[device]);
const listed = (names, type) => new Intl.ListFormat(language, { type }).format(new Set(names));

/** True if the browser asks for a language: en includes en-GB, but pt-BR includes no other Portuguese. */
function spoken(code) {
  const wanted = `${code}-`.toLowerCase();
  return navigator.languages.some((one) => `${one}-`.toLowerCase().startsWith(wanted));
}

/** The name of a language in the language of the page. */
function ofLanguage(code) {
  try {
    return new Intl.DisplayNames(language, { type: "language" }).of(code) ?? code;
  } catch {
    return code; // a code such as pt-12, of no language
  }
}

function thisDevice() {
  if (!matchMedia("(pointer: coarse)").matches) return "computer";
  return Math.min(screen.width, screen.height) < PHONE_PX ? "phone" : "tablet";
}
