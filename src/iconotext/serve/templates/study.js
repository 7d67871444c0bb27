import { ask, byId, counted, make, teller } from "/static/server.js";

const study = byId("study").dataset.study;
const home = `/v1/studies/${study}`;
const judge = byId("judge"), done = byId("done"), field = byId("rater");
const buttons = [...byId("answers").querySelectorAll("button")];

let rater = null;
let pair = null; // that is looked at
let asking = false; // the server is asked

const say = teller(byId("saved"));

const open = (opened) => {
  for (const button of buttons) button.disabled = !opened;
};

const show = async (turn) => {
  pair = turn.pair;
  byId("progress").textContent = `${rater}: ${counted(turn.judged, "pair")} judged. `
    + `In all, ${turn.votes.toLocaleString("en")} of ${counted(turn.wanted, "answer")} are in.`;
  byId("bar").hidden = false;
  byId("bar").value = turn.judged;
  byId("undo").hidden = turn.judged === 0 || turn.finished;
  judge.hidden = pair === null;
  done.hidden = pair !== null;
  if (pair === null) {
    byId("rest").replaceChildren(...(turn.finished
      ? ["All answers are in. ", make("a", { href: `/studies/${study}/result` }, "See the result")]
      : ["Nothing is left for you now. Some pairs may wait for others, and come to you if those do not answer: "
        + "look again in half an hour."]));
    done.focus();
    return;
  }
  byId("text").textContent = pair.text;
  byId("identical").hidden = !pair.identical;
  const sides = ["a", "b"].map((side) => {
    const image = byId(side);
    image.src = `${home}/pairs/${pair.number}/${side}?rater=${encodeURIComponent(rater)}`;
    return image.decode();
  });
  byId("text").focus({ preventScroll: true });
  await Promise.all(sides).catch(() => {
    if (pair === turn.pair) throw new Error("A picture of this pair cannot be shown: tell whoever runs the study");
  });
  if (pair === turn.pair) open(true); // it may have been taken back meanwhile
};

// Asks the server for something that it answers with the next pair. Nothing is answered until both pictures are there.
const turn = async (what, body, said) => {
  if (asking) return;
  asking = true;
  open(false);
  try {
    const found = await ask("POST", `${home}/${what}`, { rater, ...body }).finally(() => { asking = false; });
    say(said);
    await show(found);
  } catch (error) {
    say(`${error.message.replace(/\.$/, "")}. Press Begin to go on.`, true);
  }
};

const answer = (button) => {
  if (pair && !button.disabled) turn("votes", { pair: pair.number, answer: button.dataset.answer }, "Saved.");
};
const undo = () => {
  if (rater && !byId("undo").hidden) turn("undo", {}, "Taken back.");
};

for (const button of buttons) button.addEventListener("click", () => answer(button));
byId("undo").addEventListener("click", undo);
addEventListener("keydown", (event) => {
  if (event.repeat || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input")) return;
  if (event.key.toLowerCase() === "u") undo();
  const button = buttons[Number(event.key) - 1];
  if (button) answer(button);
});

byId("who").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = field.value.trim();
  if (!name || asking) return;
  rater = name;
  localStorage.setItem("rater", rater);
  turn("next", {}, "");
});
field.value = localStorage.getItem("rater") ?? "";
field.focus();
