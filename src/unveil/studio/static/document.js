// Charts of a document, who is in a bar, and the slider of the frontier.
const held = document.getElementById("specs");
const specs = held ? JSON.parse(held.textContent) : {};
const options = {
  mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, // interpreted: no eval
  tooltip: { disableDefaultStyle: true },
  config: { background: "transparent", view: { stroke: "#c8ccd2" }, axis: { labelOverlap: true, labelFlush: false } },
};

// ----------------------------------------------------------------------------------------------------------------- who
const article = document.querySelector("[data-document]");
const told = document.querySelector("output.who");
async function tell(where) {
  document.getElementById("exposed").open = true;
  const answer = await fetch(`/who?${new URLSearchParams({ document: article.dataset.document, ...where })}`);
  if (!answer.ok) { told.textContent = told.dataset.none; return; }
  const found = await answer.json();
  const rows = found.rows.join(", ") + (found.count > found.rows.length ? " …" : "");
  told.textContent = found.count ? `${told.dataset.some.replace("%", found.count)} ${rows}` : told.dataset.none;
}
document.querySelector("[data-who]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const place = document.getElementById("place").selectedOptions[0].dataset;
  tell({ ...place, y: Number(document.getElementById("least").value) / 100 });
});

// -------------------------------------------------------------------------------------------------------------- slider
const slide = document.querySelector("[data-slide] input[type=range]");
function frontier(view) { // the slider's point has a ring, and a click on a point moves the slider
  if (!slide) return;
  const points = [...document.querySelectorAll("[data-point]")];
  const ring = () => view.signal("chosen", points[slide.value].dataset.name).run();
  slide.addEventListener("input", ring);
  view.addEventListener("click", (event, item) => {
    const found = points.findIndex((point) => point.dataset.name === item?.datum?.n);
    if (found < 0) return;
    slide.value = found;
    slide.dispatchEvent(new Event("input", { bubbles: true }));
  });
  ring();
}

// -------------------------------------------------------------------------------------------------------------- charts
async function draw(figure) {
  const numbers = figure.querySelector("details");
  try {
    const spec = specs[figure.id];
    const { view } = await window.vegaEmbed(figure.querySelector(".chart"), spec, options);
    if (figure.closest("section")?.querySelector("#chart")) frontier(view);
    const who = told && spec.usermeta?.who;
    if (who) {
      view.addEventListener("click", (event, item) => {
        const bar = item?.datum;
        if (bar && "x2" in bar && "y2" in bar) {
          tell({ ...who, x: bar.x, x2: bar.x2, y: bar.y, y2: bar.y2 });
          told.scrollIntoView({ block: "center" });
        }
      });
    }
    const place = figure.querySelector(".chart");
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0; // it can be scrolled by keys, too
    for (const empty of place.querySelectorAll("[role=graphics-symbol]:not([aria-label])")) empty.removeAttribute("role");
    figure.dataset.drawn = "yes";
    if (numbers) numbers.open = false;
  } catch (error) {
    figure.dataset.drawn = "no";
    console.error(`${figure.id}: ${error}`);
  }
}
const waiting = [...document.querySelectorAll("figure[id]")];
const inSight = (figure) => figure.getBoundingClientRect().top < window.innerHeight;
while (waiting.length) { // one after another, what is in sight first: the page answers meanwhile
  await draw(waiting.splice(Math.max(waiting.findIndex(inSight), 0), 1)[0]);
  await new Promise((go) => setTimeout(go));
}
document.documentElement.dataset.charts = "drawn";
