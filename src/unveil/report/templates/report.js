const specs = JSON.parse(document.getElementById("specs").textContent);
const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  ast: true, // expressions are interpreted, never compiled: no eval
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
  config: {
    font,
    background: "transparent",
    view: { stroke: "#c8ccd2" },
    axis: {
      labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500, labelColor: "#333", titleColor: "#333",
      gridColor: "#e6e8eb", domainColor: "#888", tickColor: "#888", labelOverlap: true, labelFlush: false,
    },
    legend: { labelFontSize: 11, titleFontSize: 11, titleFontWeight: 500, labelColor: "#333", titleColor: "#333" },
  },
};

async function draw(figure) {
  const numbers = figure.querySelector("details");
  try {
    await window.vegaEmbed(figure.querySelector(".chart"), specs[figure.id], options);
    figure.dataset.drawn = "yes";
    if (numbers) numbers.open = false;
  } catch (error) {
    figure.dataset.drawn = "no";
    console.error(`${figure.id}: ${error}`);
  }
}

// One after another, so that the page can be read meanwhile: what the reader has before them first.
const waiting = [...document.querySelectorAll("figure[id]")];
const inSight = (figure) => {
  const place = figure.getBoundingClientRect();
  return place.bottom > 0 && place.top < window.innerHeight;
};
while (waiting.length) {
  const seen = waiting.findIndex(inSight);
  if (seen < 0) document.documentElement.dataset.sight = "drawn";
  await draw(waiting.splice(Math.max(seen, 0), 1)[0]);
  await new Promise((go) => setTimeout(go));
}
document.documentElement.dataset.sight = document.documentElement.dataset.charts = "drawn";
