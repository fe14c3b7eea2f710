# shellcheck shell=bash
# Nodes of TensorFlow graphs as text, one by one. Sourced.
vector() { # name, type, field, values
  echo "node { name: \"$1\" op: \"Const\" attr { key: \"dtype\" value { type: $2 } } attr { key: \"value\" value { tensor {"
  echo "dtype: $2 tensor_shape { dim { size: $(wc -w <<<"$4") } } $(printf "$3: %s " $4) } } } }"
}
scalar() { # name, type, field: value
  echo "node { name: \"$1\" op: \"Const\" attr { key: \"dtype\" value { type: $2 } }"
  echo "attr { key: \"value\" value { tensor { dtype: $2 tensor_shape { } $3 } } } }"
}
node() { # name, op, inputs...
  local name=$1 op=$2
  shift 2
  echo "node { name: \"$name\" op: \"$op\"$(printf ' input: "%s"' "$@") attr { key: \"T\" value { type: DT_FLOAT } } }"
}
constant() { # name, value
  cat <<TEXT
node { name: "$1" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
  attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: $2 } } } }
TEXT
}
