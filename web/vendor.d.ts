// The types of vendor.js, for `npx tsc --noEmit` in web-tests. The page does not load this file.
export { h, render, Fragment, Component, createRef } from "preact";
export type { VNode, ComponentChildren, JSX, RefObject } from "preact";
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from "preact/hooks";
export { signal, computed, effect, batch, untracked, useSignal, useComputed, useSignalEffect } from "@preact/signals";
export type { Signal, ReadonlySignal } from "@preact/signals";
export function html(strings: TemplateStringsArray, ...values: any[]): import("preact").VNode<any>;
