// The studio's own script: sends files, watches jobs, drags nodes. Everything else is forms and links.

// ------------------------------------------------------------------------------------------------------------- uploads
for (const drop of document.querySelectorAll("[data-drop]")) {
  const [input, bar, fault] = ["input", "progress", ".fault"].map((part) => drop.querySelector(part));
  const send = (file) => {
    const request = new XMLHttpRequest(); // fetch does not tell how much was sent
    request.open("PUT", `/upload?as=${drop.dataset.drop}&name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (sent) => { bar.hidden = false; bar.value = sent.total ? sent.loaded / sent.total : 0; };
    request.onload = () => {
      if (request.status === 200) { location.reload(); return; }
      let said = `${request.status}`;
      try { said = JSON.parse(request.responseText).said; } catch { /* not ours */ }
      fault.textContent = said;
      fault.hidden = false;
      bar.hidden = true;
      input.value = "";
    };
    request.onerror = () => { fault.textContent = "×"; fault.hidden = false; bar.hidden = true; };
    request.send(file);
  };
  input.addEventListener("change", () => { if (input.files.length) send(input.files[0]); });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
    });
  }
}

// ---------------------------------------------------------------------------------------------------------------- jobs
const panel = document.querySelector("[data-jobs]");
const left = panel.querySelector("template").dataset.left;
const says = panel.querySelector(".says");
let touched = false; // a form is being filled in: it is not taken away
document.addEventListener("input", () => { touched = true; });
document.addEventListener("submit", () => { touched = false; });

async function watch() {
  let jobs;
  try {
    const answer = await fetch("/jobs", { headers: { accept: "application/json" } });
    if (!answer.ok) return;
    jobs = await answer.json();
  } catch {
    return setTimeout(watch, 3000); // the studio may come back
  }
  let running = false;
  for (const job of jobs) {
    const line = panel.querySelector(`[data-job="${job.id}"]`);
    if (!line) continue;
    if (line.dataset.state !== job.state && !touched) { location.reload(); return; }
    if (line.dataset.state !== job.state) says.textContent = panel.querySelector("template").dataset.ended;
    if (job.state !== "running") continue;
    running = true;
    line.querySelector("progress").value = job.share;
    if (job.stage) line.querySelector(".stage").textContent = job.stage;
    line.querySelector(".left").textContent = job.left ? left.replace("%", job.left) : "";
    const tens = Math.floor(job.share * 10) * 10;
    if (tens && `${tens} %` !== says.textContent) says.textContent = `${tens} %`; // read aloud, not too often
  }
  setTimeout(watch, running ? 700 : 4000);
}
setTimeout(watch, 400);

// ---------------------------------------------------------------------------------------------------------------- tree
const move = document.querySelector("[data-move]");
let dragged = null;
const levelOf = (node) => Number(node.split(".")[0]);
for (const node of document.querySelectorAll(".tree .node")) {
  const at = node.parentElement.dataset.node;
  node.addEventListener("dragstart", (event) => { dragged = at; event.dataTransfer.setData("text/plain", at); });
  node.addEventListener("dragover", (event) => {
    if (dragged === null || levelOf(at) !== levelOf(dragged) + 1) return;
    event.preventDefault();
    node.classList.add("over");
  });
  node.addEventListener("dragleave", () => node.classList.remove("over"));
  node.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!move || dragged === null) return;
    for (const [name, value] of [["node", dragged], ["parent", at]]) {
      const choice = move.querySelector(`[name="${name}"]`);
      if (![...choice.options].some((option) => option.value === value)) choice.add(new Option(value, value));
      choice.value = value;
    }
    move.requestSubmit();
  });
}

// -------------------------------------------------------------------------------------------------------------- slider
const slide = document.querySelector("[data-slide] input[type=range]");
slide?.addEventListener("input", () => {
  for (const point of document.querySelectorAll("[data-point]")) point.hidden = point.dataset.point !== slide.value;
  const shown = document.querySelector(`[data-point="${slide.value}"]`);
  slide.setAttribute("aria-valuetext", shown.innerText.replaceAll("\n", " "));
});
