"""unveil attack KIND: one attack in depth, with all its options. The audit runs every one of them with defaults."""

from unveil.cli.attack.attribute import attribute
from unveil.cli.attack.background import background
from unveil.cli.attack.differential import differential
from unveil.cli.attack.disclosure import disclosure
from unveil.cli.attack.identity import identity
from unveil.cli.attack.membership import membership
from unveil.cli.command import command, group

__all__ = ["attack_app"]

attack_app = group("attack", "One attack in depth, with all its options.")

command(
    attack_app,
    first="schema original targets attacker asked known people wrong knowledge roster coalition assignment verbose",
    members=("attackers",),
)(attribute)
command(
    attack_app,
    first="schema original held known assignment key aligned population fraction limit report json people verbose",
)(identity)
command(
    attack_app,
    first="schema original control with_ require model predictions known shadows limit report json people verbose",
)(membership)
command(
    attack_app,
    first="schema original knowledge asked assignment t l bandwidths rank top report json verbose",
    members=("knowledge",),
)(background)
command(
    attack_app,
    first="schema original assignment key aligned asked known p model most_inputs fact limit report json verbose",
)(disclosure)
command(
    attack_app,
    first="schema with_ oracle require sweep model asked sample remove_until limit report json people verbose",
)(differential)
