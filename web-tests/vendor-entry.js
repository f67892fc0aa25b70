// What web/vendor.js offers. `scripts/vendor` makes that file from this one.
import { h, render, Fragment, Component, createRef } from "preact";
import { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "preact/hooks";
import { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from "@preact/signals";
import htm from "htm";

const html = htm.bind(h);

export {
  h, html, render, Fragment, Component, createRef,
  useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback,
  signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect,
};
