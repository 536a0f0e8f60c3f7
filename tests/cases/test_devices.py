"""How many ranks a node has."""


def test_a_node_without_a_gpu_in_its_list_has_one_rank(case):
    said = case(2, """
autodist run --hosts 10.77.0.1,10.77.0.2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'; echo "[$?]"
""")
    assert "rank 1 of 2" in said, said
    assert said.endswith("[0]\n"), said
