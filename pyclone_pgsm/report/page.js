"use strict";
(async () => {
  const text = id => document.getElementById(id).textContent;
  const unpacked = async packed => {
    const bytes = Uint8Array.from(atob(packed), c => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  const unpackedText = async id => new TextDecoder().decode(await unpacked(text(id)));
  const data = JSON.parse(await unpackedText("data"));
  const FIRST = 500;
  const D = data.samples.length;
  const labels = data.labels;
  const T = labels.length;
  const onBlack = Number(window.matchMedia("(prefers-color-scheme: dark)").matches);
  const colour = k => k < 0 ? data.outlier[onBlack] : data.colours[k];
  const table = document.getElementById("mutations");
  const rows = Array.from(table.tBodies[0].rows);
  const clusterColumn = Array.from(table.tHead.rows[0].cells).findIndex(cell => cell.textContent === "cluster");
  const hasGene = table.tHead.rows[0].cells[1].textContent === "gene" && clusterColumn === 2;
  const names = data.names || rows.map(row => row.cells[0].textContent);
  const genes = data.genes || (hasGene ? rows.map(row => row.cells[1].textContent) : null);
  let chosen = null;

  // pictures ------------------------------------------------------------------------------------------------
  // there are no documents before the library is unpacked
  const model = name => (window.Bokeh?.documents ?? []).map(each => each.get_model_by_name(name)).find(Boolean);
  const isTumour = data.kind === "tumour";
  const value = (t, d, quantity) => {
    const at = t * D + d;
    if (!isTumour) return data.values[at] ?? NaN; // no dot is drawn at NaN
    if (quantity === 1) return data.prevalence[at] ?? NaN;
    return data.depth[at] ? data.alt[at] / data.depth[at] : NaN;
  };
  const tell = (t, d) => {
    const at = t * D + d;
    if (!isTumour) return `${data.samples[d]}: ${data.values[at]?.toPrecision(4) ?? "–"}`;
    const copies = `copies ${data.major[at]} + ${data.minor[at]}`;
    const reads = data.depth[at] ? `${data.alt[at]} of ${data.depth[at]} reads, ${copies}` : "no data";
    return `${data.samples[d]}: ${reads}, prevalence ${(data.prevalence[at] ?? NaN).toFixed(3)}`;
  };
  const pick = id => { const found = document.getElementById(id); return found ? Number(found.value) : null; };
  const bounds = values => {
    let low = Infinity, high = -Infinity;
    for (const each of values) { if (each < low) low = each; if (each > high) high = each; }
    if (isTumour) return [-0.02, Math.max(0.6, high) * 1.04];
    if (low > high) return [0, 1]; // all are missing
    const room = 0.05 * (high - low) || 1;
    return [low - room, high + room];
  };
  const plain = name => name.replace(/\$/g, "$\u200b").replace(/\\/g, "\\\u200b");

  const place = () => {
    const source = model("scatter");
    if (!source) return;
    const across = pick("across"), up = pick("up"), quantity = isTumour ? pick("quantity") : null;
    const order = Array.from({ length: T }, (_, t) => t);
    const count = new Map();
    for (const k of labels) count.set(k, (count.get(k) || 0) + 1);
    order.sort((a, b) => count.get(labels[b]) - count.get(labels[a]) || a - b); // small clusters on top
    const made = { x: [], y: [], name: [], cluster: [], second: [], tell_x: [], tell_y: [], colour: [], alpha: [] };
    if (genes) made.gene = [];
    const jitter = (t, ratio = 0.6180339887) => ((t * ratio) % 1 - 0.5) * 0.7;
    for (const t of order) {
      const k = labels[t];
      made.x.push(value(t, across, quantity) + (data.areBits ? jitter(t, 0.7548776662) : 0));
      made.y.push(up === null ? k + jitter(t) : value(t, up, quantity) + (data.areBits ? jitter(t) : 0));
      made.name.push(names[t]);
      if (genes) made.gene.push(genes[t]);
      made.cluster.push(k);
      made.second.push(isTumour && data.second[t] >= 0 ? String(data.second[t]) : "none");
      made.tell_x.push(tell(t, across));
      made.tell_y.push(up === null ? "" : tell(t, up));
      made.colour.push(colour(k));
      made.alpha.push(bright(k));
    }
    source.data = made;
    const figure = model("scatter-figure");
    const [left, xhigh] = bounds(made.x), K = data.colours.length;
    const [bottom, yhigh] = up === null ? [K - 0.4, -0.6 - (labels.includes(-1) ? 1 : 0)] : bounds(made.y);
    let right = xhigh, top = yhigh;
    if (isTumour && up !== null) right = top = Math.max(xhigh, yhigh); // the same axis for both samples
    figure.x_range.setv({ start: left, end: right, reset_start: left, reset_end: right });
    figure.y_range.setv({ start: bottom, end: top, reset_start: bottom, reset_end: top });
    const shown = isTumour ? `${["variant allele frequency", "cellular prevalence"][quantity]} in ` : "";
    figure.below[0].axis_label = shown + plain(data.samples[across]);
    figure.left[0].axis_label = up === null ? "cluster" : shown + plain(data.samples[up]);
    model("dots").glyph.size = { value: Math.min(9, Math.max(3.5, 22 * Math.pow(T, -0.2))) };
  };

  const spread = () => {
    const source = model("densities");
    if (!source) return;
    const d = pick("density-sample"), x = data.density.x, clusters = data.density.clusters, n = x.length;
    const made = { xs: [], ys: [], cluster: [], colour: [], alpha: [] };
    clusters.forEach((k, i) => {
      const from = (i * D + d) * n;
      const curve = data.density.y.slice(from, from + n);
      made.xs.push([x[0], ...x, x[n - 1]]);
      made.ys.push([0, ...curve, 0]);
      made.cluster.push(k);
      made.colour.push(colour(k));
      made.alpha.push(bright(k));
    });
    source.data = made;
  };

  // choosing a cluster --------------------------------------------------------------------------------------
  const minor = new Set(data.minor_clusters || []);
  const bright = (k, faint = false) =>
    data.opacity[chosen === null ? (faint && minor.has(k) ? "faint" : "plain") : k === chosen ? "chosen" : "dim"];
  const dim = () => {
    for (const name of ["lines", "points", "scatter", "densities"]) {
      const source = model(name);
      const faint = name === "lines" || name === "points";
      if (source) source.data = { ...source.data, alpha: Array.from(source.data.cluster, k => bright(k, faint)) };
    }
    const figure = model("densities-figure");
    if (figure) for (const each of figure.renderers) each.glyph.fill_alpha = { field: "alpha", transform: null };
  };
  const choose = k => {
    chosen = chosen === k ? null : k;
    for (const button of document.querySelectorAll("button.choose"))
      button.setAttribute("aria-pressed", String(Number(button.dataset.cluster) === chosen));
    for (const row of document.querySelectorAll("#clusters tbody tr"))
      row.classList.toggle("lit", Number(row.dataset.cluster) === chosen);
    dim();
    filter();
  };
  const listen = name => {
    const source = model(name);
    if (!source) return;
    source.selected.properties.indices.change.connect(() => {
      const at = source.selected.indices;
      if (!at.length) return;
      const k = source.data.cluster[at[at.length - 1]];
      source.selected.indices = [];
      choose(k);
    });
  };
  for (const button of document.querySelectorAll("button.choose"))
    button.addEventListener("click", () => choose(Number(button.dataset.cluster)));

  // the table of mutations ----------------------------------------------------------------------------------
  const more = document.getElementById("more");
  let most = FIRST;
  more.addEventListener("click", () => { most = Infinity; filter(); });
  const doubtful = document.getElementById("doubtful");
  const search = document.getElementById("search"), status = document.getElementById("shown");
  const texts = rows.map((row, t) => (row.cells[0].textContent + "\n" + (hasGene ? row.cells[1].textContent : "")).toLowerCase());
  const own = new Map(rows.map((row, t) => [row, t]));
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let number = 0, seen = 0;
    for (const row of table.tBodies[0].rows) {
      const t = own.get(row);
      const fits = (chosen === null || labels[t] === chosen) && (!wanted || texts[t].includes(wanted)) &&
        (!(doubtful && doubtful.checked) || row.classList.contains("bad"));
      const show = fits && seen < most;
      if (row.hidden === show) row.hidden = !show;
      number += fits;
      seen += show;
    }
    const told = each => each.toLocaleString("en");
    status.textContent = `${told(number)} of ${told(rows.length)}` + (chosen === null ? "" : `, cluster ${chosen}`) +
      (seen < number ? `; the first ${told(seen)} shown` : "");
    more.hidden = seen === number;
  };
  let waiting = 0;
  if (doubtful) doubtful.addEventListener("change", filter);
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  document.getElementById("everything").addEventListener("click", () => { search.value = ""; if (doubtful) doubtful.checked = false; if (chosen !== null) choose(chosen); filter(); });

  const inOrder = new Intl.Collator("en", { numeric: true }); // 2 before 10, also in names
  const sortable = found => {
    const heads = Array.from(found.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach(each => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const isNumber = head.classList.contains("n");
        const key = row => { const text = row.cells[column].textContent; return isNumber ? (text === "" ? -Infinity : parseFloat(text.replace(/,/g, "").replace(/^(inf|binomial)$/, "Infinity"))) : text; };
        const body = found.tBodies[0];
        const keyed = Array.from(body.rows, row => [key(row), row]);
        const compare = isNumber ? (a, b) => a[0] - b[0] || 0 : (a, b) => inOrder.compare(a[0], b[0]);
        keyed.sort(down ? (a, b) => compare(b, a) : compare);
        body.append(...keyed.map(each => each[1]));
        if (found === table) filter();
      });
    });
  };
  for (const id of ["clusters", "mutations", "diagnostics", "left_out"]) {
    const found = document.getElementById(id);
    if (found) sortable(found);
  }

  // downloads -----------------------------------------------------------------------------------------------
  const file = async name =>
    new Blob([await unpacked(JSON.parse(text("files"))[name])], { type: "text/tab-separated-values" });
  for (const button of document.querySelectorAll("button.download"))
    button.addEventListener("click", async () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await file(button.dataset.file));
      link.download = button.dataset.file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });

  // begin ---------------------------------------------------------------------------------------------------
  const begin = async () => {
    const library = document.createElement("script");
    library.textContent = await unpackedText("bokeh");
    document.head.append(library);
    Bokeh.set_log_level("error");
    await Promise.all(JSON.parse(text("pictures")).map(item => Bokeh.embed.embed_item(item)));
    place();
    spread();
    if (chosen !== null) dim();
    for (const name of ["points", "scatter", "densities"]) listen(name);
    for (const [id, update] of [["across", place], ["up", place], ["quantity", place], ["density-sample", spread]])
      document.getElementById(id)?.addEventListener("change", update);
    document.documentElement.dataset.ready = "yes";
  };
  filter();
  document.documentElement.dataset.filtered = "yes";
  await begin();
})();
